package jobs

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// outcome of a Job so far.
type outcome struct {
	ended     bool
	succeeded int
	reasons   []string // of the workers that failed for good, by their index, and of the Job
}

// look at the Job and its pods, and show what they are doing.
func (d *driver) look(ctx context.Context) (outcome, error) {
	job := &batchv1.Job{}
	if err := d.client.Get(ctx, client.ObjectKey{Namespace: d.Namespace, Name: d.name}, job); err != nil {
		return outcome{}, err
	}
	var pods corev1.PodList
	if err := d.client.List(ctx, &pods, client.InNamespace(d.Namespace),
		client.MatchingLabels{NameLabel: d.name, roleLabel: roleWorker}); err != nil {
		return outcome{}, err
	}
	o := outcome{succeeded: int(job.Status.Succeeded)}
	var failure string
	for _, c := range job.Status.Conditions {
		if c.Status == corev1.ConditionTrue && (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) {
			o.ended = true
			if c.Type == batchv1.JobFailed {
				failure = c.Message
			}
		}
	}
	if !o.ended {
		d.show(ctx, job, pods.Items)
		return o, nil
	}
	o.reasons = reasonsOf(pods.Items, failure)
	return o, nil
}

// reasonsOf a Job that failed: of each index without a success, that of its last pod.
func reasonsOf(pods []corev1.Pod, failure string) []string {
	if failure == "" {
		return nil
	}
	slices.SortFunc(pods, func(a, b corev1.Pod) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	last := map[int]string{}
	good := map[int]bool{}
	for i := range pods {
		index, err := strconv.Atoi(pods[i].Annotations[batchv1.JobCompletionIndexAnnotation])
		if err != nil {
			continue
		}
		switch pods[i].Status.Phase {
		case corev1.PodSucceeded:
			good[index] = true
		case corev1.PodFailed:
			last[index] = reasonOf(&pods[i])
		}
	}
	reasons := []string{failure}
	for _, index := range slices.Sorted(maps.Keys(last)) {
		if !good[index] {
			reasons = append(reasons, fmt.Sprintf("worker %d: %s", index+1, last[index]))
		}
	}
	return reasons
}

// reasonOf a failed pod: how its container ended, and the end of its log.
func reasonOf(pod *corev1.Pod) string {
	for _, c := range pod.Status.ContainerStatuses {
		if t := c.State.Terminated; t != nil {
			text := fmt.Sprintf("exit code %d, %s", t.ExitCode, cmp.Or(t.Reason, "no reason given"))
			if lines := strings.Split(strings.TrimSpace(t.Message), "\n"); lines[0] != "" {
				text += ": " + lines[len(lines)-1]
			}
			return text
		}
	}
	return cmp.Or(strings.TrimSpace(pod.Status.Reason+" "+pod.Status.Message), "no reason given")
}

// share in a line of a worker's progress, as internal/cli writes it.
var shareIn = regexp.MustCompile(`: (\d+) %, about`)

// show the progress: that of the worker that is furthest, since each has seen what the others finished.
func (d *driver) show(ctx context.Context, job *batchv1.Job, pods []corev1.Pod) {
	furthest, running, waits := 0.0, 0, ""
	for i := range pods {
		switch {
		case pods[i].Status.Phase == corev1.PodRunning:
			running++
			if found := shareIn.FindStringSubmatch(d.lastLine(ctx, pods[i].Name)); found != nil {
				share, _ := strconv.ParseFloat(found[1], 64)
				furthest = max(furthest, share/100)
			}
		case pods[i].Status.Phase == corev1.PodPending:
			waits = cmp.Or(waits, waitsFor(&pods[i]))
		}
	}
	doing := fmt.Sprintf("%d of %d workers running, %d done", running, d.Workers, job.Status.Succeeded)
	if job.Status.Failed > 0 {
		doing += fmt.Sprintf(", %d pods failed", job.Status.Failed)
	}
	if waits != "" {
		doing += ", one waits for " + waits
	}
	d.Progress(furthest, doing)
}

// waitsFor is why a pod does not run yet, in Kubernetes' words.
func waitsFor(pod *corev1.Pod) string {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return c.Message
		}
	}
	for _, c := range pod.Status.ContainerStatuses {
		if w := c.State.Waiting; w != nil {
			return strings.TrimSpace(w.Reason + " " + w.Message)
		}
	}
	return "pod " + pod.Name
}

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// Existing of these paths.
func Existing(paths []Path) []Path {
	return slices.DeleteFunc(slices.Clone(paths), func(p Path) bool { _, err := os.Stat(p.Here); return err != nil })
}
