package jobs

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

const (
	// NameLabel has the Job's name, on all objects that belong to it.
	NameLabel = "loadline.dev/job"
	// roleLabel separates the workers from the pod that holds the volume.
	roleLabel  = "loadline.dev/job-role"
	roleWorker = "worker"
	roleFiles  = "files"

	// MountPath of the volume in all pods.
	MountPath     = "/var/lib/loadline/job"
	volumeName    = "job"
	containerName = "loadline"

	// UsageExitCode of a worker: another attempt would end the same.
	UsageExitCode = 2

	retries = 3
	keepFor = 24 * 60 * 60 // seconds that a finished Job is kept if its results are not fetched
	user    = 65532        // of the image
)

func (d *driver) labels(role string) map[string]string {
	return map[string]string{"app.kubernetes.io/name": "loadline-job", NameLabel: d.name, roleLabel: role}
}

// meta of an object that goes with the Job.
func (d *driver) meta(name, role string, owner *batchv1.Job) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: name, Namespace: d.Namespace, Labels: d.labels(role),
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: owner.Name, UID: owner.UID}},
	}
}

func ptr[T any](v T) *T { return &v }

// job of the workers, suspended until the volume has their inputs.
func (d *driver) job() *batchv1.Job {
	args := append([]string{"pod", "work", "--in", d.folder(), "--program", d.task.Program, "--"}, d.task.Args...)
	pod := d.pod(append(args, fmt.Sprintf("--shard=index/%d", d.Workers)), d.resources())
	pod.RestartPolicy = corev1.RestartPolicyNever
	n := int32(d.Workers)
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: d.name, Namespace: d.Namespace, Labels: d.labels(roleWorker)},
		Spec: batchv1.JobSpec{
			CompletionMode: ptr(batchv1.IndexedCompletion), Completions: &n, Parallelism: &n, Suspend: ptr(true),
			BackoffLimitPerIndex: ptr(int32(retries)), TTLSecondsAfterFinished: ptr(int32(keepFor)),
			PodFailurePolicy: &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{
				{Action: batchv1.PodFailurePolicyActionFailJob, OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{
					ContainerName: ptr(containerName), Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{UsageExitCode},
				}},
				// An evicted pod or a drained node is no failure of the worker.
				{Action: batchv1.PodFailurePolicyActionIgnore, OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{
					{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue},
				}},
			}},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: d.labels(roleWorker)}, Spec: pod},
		},
	}
}

// files is the pod through which inputs and results go.
func (d *driver) files(owner *batchv1.Job) *corev1.Pod {
	small := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("50m"), corev1.ResourceMemory: resource.MustParse("64Mi")}
	pod := d.pod([]string{"pod", "hold"}, corev1.ResourceRequirements{Requests: small})
	pod.RestartPolicy = corev1.RestartPolicyAlways
	return &corev1.Pod{ObjectMeta: d.meta(d.name+"-files", roleFiles, owner), Spec: pod}
}

// claim of the volume, which goes with the Job.
func (d *driver) claim(owner *batchv1.Job) *corev1.PersistentVolumeClaim {
	c := &corev1.PersistentVolumeClaim{ObjectMeta: d.meta(d.name, roleFiles, owner), Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{d.access()},
		Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(d.Size)}},
	}}
	if d.Class != "" {
		c.Spec.StorageClassName = &d.Class
	}
	return c
}

func (d *driver) access() corev1.PersistentVolumeAccessMode {
	if d.OneNode {
		return corev1.ReadWriteOnce
	}
	return corev1.ReadWriteMany
}

func (d *driver) resources() corev1.ResourceRequirements {
	// The limit is what Go runs as many threads as; memory is not overcommitted.
	all := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(d.CPU), corev1.ResourceMemory: resource.MustParse(d.Memory)}
	return corev1.ResourceRequirements{Requests: all, Limits: all}
}

// pod of the image with the volume: no account, no rights, nothing to write but the volume and /tmp.
func (d *driver) pod(args []string, resources corev1.ResourceRequirements) corev1.PodSpec {
	spec := corev1.PodSpec{
		AutomountServiceAccountToken: ptr(false), EnableServiceLinks: ptr(false), TerminationGracePeriodSeconds: ptr(int64(5)),
		SecurityContext: &corev1.PodSecurityContext{
			RunAsNonRoot: ptr(true), RunAsUser: ptr(int64(user)), RunAsGroup: ptr(int64(user)), FSGroup: ptr(int64(user)),
			FSGroupChangePolicy: ptr(corev1.FSGroupChangeOnRootMismatch),
			SeccompProfile:      &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
		Volumes: []corev1.Volume{
			{Name: volumeName, VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: d.claimName()}}},
			{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		},
		Containers: []corev1.Container{{
			Name: containerName, Image: d.Image, ImagePullPolicy: corev1.PullIfNotPresent, Args: args, Resources: resources,
			VolumeMounts: []corev1.VolumeMount{{Name: volumeName, MountPath: MountPath}, {Name: "tmp", MountPath: "/tmp"}},
			// The end of the log is the reason of a failed worker.
			TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
			SecurityContext: &corev1.SecurityContext{
				AllowPrivilegeEscalation: ptr(false), ReadOnlyRootFilesystem: ptr(true),
				Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			},
		}},
	}
	if d.OneNode {
		spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
				TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{NameLabel: d.name}},
			}},
		}}
	}
	return spec
}

// folder of the Job on the volume, which others may use too.
func (d *driver) folder() string { return MountPath + "/" + d.name }

func (d *driver) claimName() string {
	if d.Claim != "" {
		return d.Claim
	}
	return d.name
}

// faults are everything that is wrong.
func (o Options) faults() (faults []error) {
	fault := func(format string, values ...any) { faults = append(faults, fmt.Errorf(format, values...)) }
	if o.Image == "" {
		fault("image is empty: name one with the same build of this program, such as loadline.dev/loadline:0.1.0")
	}
	if o.Workers < 1 || o.Workers > mostWorkers {
		fault("workers is %d, must be from 1 to %d", o.Workers, mostWorkers)
	}
	for _, q := range []struct{ name, value string }{{"cpu", o.CPU}, {"memory", o.Memory}, {"size", o.Size}} {
		if parsed, err := resource.ParseQuantity(q.value); err != nil || parsed.Sign() <= 0 {
			fault("%s is %q, must be a positive quantity, such as 2 or 4Gi", q.name, q.value)
		}
	}
	for _, n := range []struct{ name, value string }{{"namespace", o.Namespace}, {"claim", o.Claim}, {"class", o.Class}} {
		if problems := validation.IsDNS1123Subdomain(n.value); n.value != "" && len(problems) > 0 {
			fault("%s is %q, which is not the name of one: %s", n.name, n.value, problems[0])
		}
	}
	if o.Claim != "" && o.Class != "" {
		fault("claim and class exclude each other: a claim that exists has its class")
	}
	return faults
}
