// Package jobs runs a command of this program on a Kubernetes cluster as an Indexed Job. Its workers share
// a volume and divide the work (internal/shard); what they write is fetched, so that the same command on
// this machine finds everything done.
//
// Everything belongs to the Job: deleting it deletes the pods and the claim, and Kubernetes deletes it a
// day after its end. Its name follows from what it does: the same command finds it again.
//
// Reading order: jobs.go (the steps), objects.go (what is created), watch.go (progress and failures),
// exec.go and archive.go (files in and out). What runs in the pods is the command pod of internal/cli.
package jobs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loadline/loadline/internal/shard"
)

const mostWorkers = shard.Most

// Options of where and how.
type Options struct {
	Config    *rest.Config
	Namespace string
	Image     string
	Workers   int
	CPU       string // of one worker, request and limit
	Memory    string

	Claim   string // an existing one; "" = one is made, of Size and Class
	Class   string // "" = the cluster's default
	Size    string
	OneNode bool // the volume can be written from one node only: all pods run there
	Keep    bool // leave the Job and its volume when the results are here

	Log      func(line string)
	Progress func(share float64, doing string)
}

// Task is the command.
type Task struct {
	Program string   // the build, which the image must have too
	Args    []string // without the shard
	Inputs  []Path   // what it reads
	Earlier []Path   // what an earlier run left of the results; may be missing
	Results []Path   // what it writes
}

// Failed is a Job of which no worker came to the end.
type Failed struct {
	Job     string // namespace/name
	Reasons []string
}

func (e *Failed) Error() string {
	return fmt.Sprintf("Job %s failed: %s; what it finished is here, and the same command starts a new one", e.Job, strings.Join(e.Reasons, "; "))
}

// Left is the error of a driver that was interrupted: the Job runs on.
type Left struct{ Namespace, Name string }

func (e *Left) Error() string {
	return fmt.Sprintf("interrupted: Job %s in namespace %s runs on; the same command finds it, and kubectl -n %s delete job %s ends it",
		e.Name, e.Namespace, e.Namespace, e.Name)
}

// Unwrap makes it a context.Canceled.
func (*Left) Unwrap() error { return context.Canceled }

type driver struct {
	Options
	task   Task
	name   string
	client client.Client
}

// Run runs the task and fetches its results. A Job of the same task that runs or has ended is taken over.
func Run(ctx context.Context, o Options, t Task) error {
	if faults := o.faults(); len(faults) > 0 {
		return errors.Join(faults...)
	}
	sum, err := digest(t)
	if err != nil {
		return err
	}
	d := &driver{Options: o, task: t, name: "loadline-" + sum}
	if d.client, err = client.New(o.Config, client.Options{}); err != nil {
		return err
	}
	job, err := d.begin(ctx)
	if err == nil {
		err = d.finish(ctx, job)
	}
	if ctx.Err() != nil && job != nil {
		return &Left{d.Namespace, d.name}
	}
	return err
}

// begin makes the Job, or finds it, and lets its workers go when the volume has their inputs.
func (d *driver) begin(ctx context.Context) (*batchv1.Job, error) {
	job := &batchv1.Job{}
	err := d.client.Get(ctx, client.ObjectKey{Namespace: d.Namespace, Name: d.name}, job)
	switch {
	case apierrors.IsNotFound(err):
		job = d.job()
		if err := d.client.Create(ctx, job); err != nil {
			return nil, fmt.Errorf("create Job %s in namespace %s: %w", d.name, d.Namespace, err)
		}
		d.Log(fmt.Sprintf("Job %s in namespace %s: %d workers of %s", d.name, d.Namespace, d.Workers, d.Image))
	case err != nil:
		return nil, fmt.Errorf("read Job %s in namespace %s: %w", d.name, d.Namespace, err)
	default:
		d.Log(fmt.Sprintf("Job %s in namespace %s is found again", d.name, d.Namespace))
		if spec := job.Spec.Template.Spec; spec.Affinity != nil {
			d.OneNode = true
		}
	}
	d.Workers = int(*job.Spec.Completions)
	if job.Spec.Suspend == nil || !*job.Spec.Suspend {
		return job, nil
	}
	if err := d.provide(ctx, job); err != nil {
		return job, err
	}
	before := client.MergeFrom(job.DeepCopy())
	job.Spec.Suspend = ptr(false)
	if err := d.client.Patch(ctx, job, before); err != nil {
		return job, fmt.Errorf("start Job %s: %w", d.name, err)
	}
	return job, nil
}

// provide the volume with the inputs.
func (d *driver) provide(ctx context.Context, job *batchv1.Job) error {
	if err := d.hold(ctx, job); err != nil {
		return err
	}
	d.Progress(0, "sending files")
	read, write := io.Pipe()
	go func() {
		write.CloseWithError(Pack(write, slices.Concat(d.task.Inputs, Existing(d.task.Earlier))))
	}()
	err := d.exec(ctx, d.name+"-files", []string{"pod", "put", d.folder()}, read, nil)
	read.CloseWithError(errors.New("the pod has stopped reading"))
	return err
}

// hold makes the pod that has the volume, and waits for it.
func (d *driver) hold(ctx context.Context, job *batchv1.Job) error {
	if d.Claim == "" {
		if err := d.client.Create(ctx, d.claim(job)); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create a claim of %s for Job %s: %w", d.Size, d.name, err)
		}
	}
	return d.poll(ctx, func() (bool, error) {
		pod := d.files(job)
		err := d.client.Get(ctx, client.ObjectKeyFromObject(pod), pod)
		if apierrors.IsNotFound(err) {
			return false, d.client.Create(ctx, d.files(job))
		}
		if err != nil {
			return false, err
		}
		if pod.Status.Phase == corev1.PodFailed { // evicted
			return false, d.client.Delete(ctx, pod)
		}
		d.Progress(0, "waiting for the volume: "+waitsFor(pod))
		return isReady(pod), nil
	})
}

// finish waits for the Job and fetches the results.
func (d *driver) finish(ctx context.Context, job *batchv1.Job) error {
	var outcome outcome
	err := d.poll(ctx, func() (ended bool, err error) {
		outcome, err = d.look(ctx)
		return outcome.ended, err
	})
	if err != nil {
		return err
	}
	for _, reason := range outcome.reasons {
		d.Log("Job " + d.name + ": " + reason)
	}
	d.Progress(1, "fetching results")
	if err := d.hold(ctx, job); err != nil {
		return err
	}
	for _, p := range d.task.Results {
		if err := d.fetch(ctx, p); err != nil {
			return err
		}
	}
	if !d.Keep {
		err := d.client.Delete(ctx, job, client.PropagationPolicy("Background"))
		if err := client.IgnoreNotFound(err); err != nil {
			return fmt.Errorf("delete Job %s, whose results are here: %w", d.name, err)
		}
	}
	if outcome.succeeded == 0 {
		return &Failed{d.Namespace + "/" + d.name, outcome.reasons}
	}
	return nil
}

// fetch one folder of the results.
func (d *driver) fetch(ctx context.Context, p Path) error {
	read, write := io.Pipe()
	unpacked := make(chan error, 1)
	go func() {
		err := Unpack(read, p.Here)
		read.CloseWithError(err)
		unpacked <- err
	}()
	err := d.exec(ctx, d.name+"-files", []string{"pod", "get", d.folder() + "/" + p.There}, nil, write)
	write.CloseWithError(err)
	return errors.Join(err, <-unpacked)
}

// pollEvery so often is asked what has become of the Job.
const pollEvery = 2 * time.Second

// poll until it is done. An API server that is away for a while is waited for.
func (d *driver) poll(ctx context.Context, done func() (bool, error)) error {
	for faults := 0; ; {
		ended, err := done()
		switch {
		case err == nil && ended:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
			return fmt.Errorf("the Job %s in namespace %s: %w", d.name, d.Namespace, err)
		case err != nil:
			if faults++; faults == faultsTold {
				d.Log("the API server does not answer; the Job runs on: " + err.Error())
			}
		default:
			faults = 0
		}
		select {
		case <-time.After(pollEvery):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// faultsTold: after so many in a row the user hears of it.
const faultsTold = 3
