package controller

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/resource"
)

// classOf a LoadLine; nil if it names none and there is no default.
func (c *Controller) classOf(ctx context.Context, l *v1alpha1.LoadLine) (*v1alpha1.LoadLineClass, error) {
	var classes v1alpha1.LoadLineClassList
	if !c.classless {
		err := c.Client.List(ctx, &classes)
		unread := meta.IsNoMatchError(err) || apierrors.IsForbidden(err) && l.Spec.ClassName == ""
		if err != nil && !unread {
			return nil, fmt.Errorf("read the LoadLineClasses: %w", err)
		}
	}
	return resource.ClassOf(l, classes.Items)
}

// classKey changes with whatever a running application has of its class. The reserve is
// not part of it.
func classKey(class *v1alpha1.LoadLineClass) string {
	if class == nil {
		return ""
	}
	text, err := json.Marshal([]any{class.UID, class.Name, class.Spec.Prometheus})
	if err != nil { // a type that cannot be written is a fault of ours
		panic(err)
	}
	return string(text)
}

// sharedKey is the key of the class of a LoadLine, or why it has none.
func (c *Controller) sharedKey(ctx context.Context, l *v1alpha1.LoadLine) string {
	class, err := c.classOf(ctx, l)
	if err != nil {
		return err.Error()
	}
	return classKey(class)
}

// proposeReserve tells the policy whether its LoadLine's class holds a reserve. Without an answer it
// stays as it was.
func (c *Controller) proposeReserve(ctx context.Context, l *v1alpha1.LoadLine, a *application) {
	p, can := a.model.policy.(interface{ ProposeReserve(held bool) })
	if !can {
		return
	}
	class, err := c.classOf(ctx, l)
	if err != nil {
		return
	}
	held := class != nil && class.Spec.Reserve.Policy != "" && class.Spec.Reserve.Policy != v1alpha1.ReserveOff
	p.ProposeReserve(held)
}

// classChanged reports whether a running application uses its class as it was before.
func (c *Controller) classChanged(ctx context.Context, r *runner) bool {
	used := r.class.Load()
	return used != nil && *used != c.sharedKey(ctx, r.latest.Load())
}

// ofClasses are the LoadLines that this process runs: any of them may use a class that
// was created, changed or deleted.
func (c *Controller) ofClasses(context.Context, client.Object) []reconcile.Request {
	c.mu.Lock()
	defer c.mu.Unlock()
	var wake []reconcile.Request
	for name := range c.runs {
		wake = append(wake, reconcile.Request{NamespacedName: name})
	}
	return wake
}

// findClasses notes whether this process can use LoadLineClasses. A cluster with the
// definitions or roles of an earlier release has none; everything else works there.
func (c *Controller) findClasses(ctx context.Context) error {
	err := c.Live.List(ctx, &v1alpha1.LoadLineClassList{}, client.Limit(1))
	c.classless = meta.IsNoMatchError(err) || apierrors.IsForbidden(err) || apierrors.IsNotFound(err)
	if c.classless {
		c.Log.Warn("LoadLineClasses are not used", "reason", err, "remedy",
			"kubectl apply --server-side -f deploy/crd -f deploy/rbac/classes.yaml, then restart the controller")
		return nil
	}
	return err
}
