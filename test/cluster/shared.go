package cluster

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

var shared struct {
	sync.Mutex
	begun   bool
	cluster *Cluster
	err     error
}

// Shared is the cluster that the tests of a package share, with the default
// options; the first one starts it. Tests keep apart by namespaces (Namespace).
// The package must have
//
//	func TestMain(m *testing.M) { os.Exit(cluster.Main(m)) }
func Shared(t testing.TB) *Cluster {
	t.Helper()
	needEtcd(t)
	shared.Lock()
	defer shared.Unlock()
	if !shared.begun {
		shared.begun = true
		shared.cluster, shared.err = start(context.Background(), Options{})
	}
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.cluster
}

// Main runs the tests of a package and stops the cluster that they shared. What
// controller-runtime logs is dropped, unless a manager is given a logger of its own.
func Main(m *testing.M) int {
	log.SetLogger(logr.Discard())
	code := m.Run()
	if built.dir != "" {
		os.RemoveAll(built.dir)
	}
	if shared.cluster != nil {
		shared.cluster.stop(code != 0, func(format string, a ...any) { fmt.Fprintf(os.Stderr, format+"\n", a...) })
	}
	return code
}

// Namespace makes a namespace for one test, and deletes it at its end together
// with all that is in it, without waiting.
func (c *Cluster) Namespace(t testing.TB) string {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	if err := c.client.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.client.Delete(context.Background(), ns); err != nil {
			t.Logf("delete namespace %s: %v", ns.Name, err)
		}
	})
	Eventually(t, "the namespace's service account", func() error {
		return c.client.Get(t.Context(), types.NamespacedName{Namespace: ns.Name, Name: "default"}, &corev1.ServiceAccount{})
	})
	return ns.Name
}
