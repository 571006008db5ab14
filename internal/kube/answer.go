package kube

import (
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Causes in the API server's response when Kubernetes 1.36 rejects a resize at
// once.
const (
	causeNodeCapacity metav1.CauseType = "NodeCapacity"
	causePlatform     metav1.CauseType = "UnsupportedPlatform"
)

// answer interprets the API server's response. An error that does not concern
// this pod is returned.
func (o *Outcome) answer(err error, node string) error {
	switch {
	case err == nil:
		o.Result = InProgress
	case noSubresource(err):
		o.Result, o.Why = Refused, "the cluster cannot resize pods: it needs Kubernetes 1.33 or later"
	case apierrors.IsNotFound(err) || aboutUID(err):
		o.Result, o.Why = Gone, "the pod ended meanwhile"
	case apierrors.IsConflict(err):
		o.Result, o.Why = Waiting, "others change the pod at this moment"
	case apierrors.HasStatusCause(err, causeNodeCapacity):
		o.Result, o.Why, o.recreate = Infeasible, fmt.Sprintf("node %s can never hold it: %s", node, plainly(err)), true
	case apierrors.HasStatusCause(err, causePlatform):
		o.Result, o.Why = Refused, plainly(err)
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), "cannot patch resource"):
		return fmt.Errorf("%w: %w", ErrForbidden, err)
	case apierrors.IsForbidden(err):
		o.Result, o.Why = Refused, plainly(err) // a quota, a limit range, a policy of the cluster
	case apierrors.IsInvalid(err):
		o.Result, o.Why = Refused, plainly(err)
		o.recreate = strings.Contains(err.Error(), "without support for resize")
	default:
		return err
	}
	return nil
}

// noSubresource distinguishes a path that the API server does not know from a pod
// that does not exist: only the latter error contains the name.
func noSubresource(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return details == nil || details.Name == ""
}

// aboutUID reports whether the pod of this name is a different one by now.
func aboutUID(err error) bool {
	return apierrors.IsInvalid(err) && strings.Contains(err.Error(), "metadata.uid")
}

// plainly removes the common prefix of rejections: the pod is named elsewhere.
func plainly(err error) string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return err.Error()
	}
	text := status.Status().Message
	for _, after := range []string{" is forbidden: ", " is invalid: "} {
		if _, rest, found := strings.Cut(text, after); found {
			return rest
		}
	}
	return text
}
