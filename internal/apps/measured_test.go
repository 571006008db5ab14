package apps

import (
	"compress/gzip"
	"encoding/csv"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// minute is one row of the measured data: one pod, one minute.
type minute struct {
	at       int64   // unix seconds
	milliCPU float64 // millicores
	rate     float64 // requests per second
}

// measurement is two days of data of one application, by service.
type measurement struct {
	first, second map[string][]minute
}

// sharedData finds the measured data beside the repository, or skips: it may not be committed.
func sharedData(t testing.TB, path ...string) string {
	t.Helper()
	file := filepath.Join(append([]string{"..", "..", "..", "shared", "data", "validation"}, path...)...)
	if _, err := os.Stat(file); err != nil {
		t.Skipf("the measured data are not on this machine: %s, relative to internal/apps, is absent", file)
	}
	return file
}

func readCSV(t testing.TB, file string) (columns map[string]int, rows [][]string) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	all, err := csv.NewReader(z).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	columns = map[string]int{}
	for i, name := range all[0] {
		columns[name] = i
	}
	return columns, all[1:]
}

var podSuffix = regexp.MustCompile(`-[0-9a-f]{7,10}-[a-z0-9]{5}$`)

// nezha reads the pods of one application. milliPerUnit is the unit of the CPU column: Train
// Ticket's in millicores, Online Boutique's in units of ten. The latter has two signs: its pods
// are throttled at 20 or 30 units where the manifests say 200m or 300m, and a pod at 20 units
// under an injected fault takes 2.8 % of its node, as 500m take 6.3 % on the same 8-core nodes
// in the other file.
func nezha(t testing.TB, app string, milliPerUnit float64) measurement {
	t.Helper()
	columns, rows := readCSV(t, sharedData(t, "nezha_ob_tt_k8s", app+"_pods_1min.csv.gz"))
	services := map[string][]minute{}
	for _, row := range rows {
		number := func(column string) float64 {
			x, err := strconv.ParseFloat(row[columns[column]], 64)
			if err != nil {
				return math.NaN()
			}
			return x
		}
		m := minute{at: int64(number("TimeStamp")), milliCPU: number("CpuUsage(m)") * milliPerUnit, rate: number("PodWorkload(Ops)")}
		if math.IsNaN(m.milliCPU) || math.IsNaN(m.rate) {
			continue
		}
		// One pod's rows of the first day are 200,000,000 s in the future.
		if m.at > 1_800_000_000 {
			m.at -= 200_000_000
		}
		name := strings.TrimPrefix(podSuffix.ReplaceAllString(row[columns["PodName"]], ""), "ts-")
		services[name] = append(services[name], m)
	}
	days := measurement{first: map[string][]minute{}, second: map[string][]minute{}}
	for name, minutes := range services {
		slices.SortFunc(minutes, func(a, b minute) int { return int(a.at - b.at) })
		split := len(minutes)
		for i := 1; i < len(minutes); i++ {
			if minutes[i].at-minutes[i-1].at > 6*3600 {
				split = i
			}
		}
		days.first[name], days.second[name] = minutes[:split], minutes[split:]
	}
	return days
}

// calm is the mean CPU in millicores without the highest and lowest 2 % of the
// minutes: the injected CPU faults are fewer than 1 %.
func calm(minutes []minute) float64 {
	cpu := make([]float64, len(minutes))
	for i, m := range minutes {
		cpu[i] = m.milliCPU
	}
	slices.Sort(cpu)
	cut := len(cpu) / 50
	return mean(cpu[cut : len(cpu)-cut])
}

func meanRate(minutes []minute) float64 {
	rates := make([]float64, len(minutes))
	for i, m := range minutes {
		rates[i] = m.rate
	}
	return mean(rates)
}

func mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

func variance(x []float64) float64 {
	m, sum := mean(x), 0.0
	for _, v := range x {
		sum += (v - m) * (v - m)
	}
	return sum / float64(len(x))
}

func median(x []float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(x))
	if n := len(s); n%2 == 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}
	return s[len(s)/2]
}
