package papers

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/loadline/loadline/internal/workload"
)

// GoogleFile is the trace's path within the folder of public traces.
const GoogleFile = "google2011_jobs/jobs25_300s_20d.csv.gz"

// googleJob is a production job of many tasks whose CPU varies five to one within hours, so
// that scaling it matters.
const googleJob = "6143134859"

// ReadGoogle reads one job of the Google cluster trace of 2011, CPU summed over its tasks every
// 300 s, as request rates with a peak of 1. Its CPU relative to its own peak is taken as
// utilisation, and utilisation as proportional to load.
func ReadGoogle(r io.Reader) (*workload.Workload, error) {
	in := csv.NewReader(r)
	in.ReuseRecord = true
	head, err := in.Read()
	if err != nil {
		return nil, fmt.Errorf("google trace: %w", err)
	}
	job, at, cpu := slices.Index(head, "job"), slices.Index(head, "t_s"), slices.Index(head, "cpu")
	if job < 0 || at < 0 || cpu < 0 {
		return nil, fmt.Errorf("google trace: columns %v, must have job, t_s and cpu", head)
	}
	var times []string
	var values []float64
	peak := 0.0
	for {
		row, err := in.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("google trace: %w", err)
		}
		if row[job] != googleJob {
			continue
		}
		v, err := strconv.ParseFloat(row[cpu], 64)
		if err != nil {
			line, _ := in.FieldPos(cpu)
			return nil, fmt.Errorf("google trace, line %d: cpu is %q, must be a number", line, row[cpu])
		}
		times, values, peak = append(times, row[at]), append(values, v), max(peak, v)
	}
	if peak == 0 {
		return nil, fmt.Errorf("google trace: job %s is not in it", googleJob)
	}
	var text bytes.Buffer
	text.WriteString("t_s,cpu_util_percent\n")
	for i, v := range values {
		fmt.Fprintf(&text, "%s,%g\n", times[i], 100*v/peak)
	}
	profile, err := workload.ProportionalProfile(1)
	if err != nil {
		return nil, err
	}
	w, _, err := workload.Read(&text, "google 2011, job "+googleJob, workload.Options{Profile: profile})
	return w, err
}

// trace is the load of Elastic-DQN's experiments with a peak of 1, and a sentence on its
// source.
func (o Options) trace() (*workload.Workload, string, error) {
	if o.Trace != nil {
		return o.Trace, "The load is the CPU of job " + googleJob +
			" of the Google cluster trace of 2011 (300 s bins, 20 days), proportional to its utilisation.", nil
	}
	w, err := workload.Parse("diurnal:low=0.15,high=0.8,period=12h,peak=5h+noise:cv=0.25,corr=20m", 20*24*time.Hour, 5*time.Minute, 1)
	if err != nil {
		return nil, "", err
	}
	w, err = w.Peak(1)
	return w, "The Google cluster trace is not at hand: a generated load (two waves a day, noise) takes its place.", err
}
