package controller

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loadline/loadline/api/v1alpha1"
)

// TestShardsDivideLoadLines: every LoadLine has exactly one shard, shards have about as many, and one more shard
// moves LoadLines only to itself.
func TestShardsDivideLoadLines(t *testing.T) {
	const loadlines = 5000
	for shards := 1; shards <= MaxShards; shards++ {
		sizes := make([]int, shards)
		for i := range loadlines {
			name := types.NamespacedName{Namespace: fmt.Sprintf("team-%d", i%40), Name: fmt.Sprintf("app-%d", i)}
			owner := Sharding{Shards: shards}.ownerOf(name)
			sizes[owner]++
			if next := (Sharding{Shards: shards + 1}).ownerOf(name); next != owner && next != shards {
				t.Fatalf("%s moves from shard %d to %d when shard %d is added", name, owner, next, shards)
			}
			owns := 0
			for shard := range shards {
				l := &v1alpha1.LoadLine{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name}}
				if (Sharding{Shards: shards, Shard: shard}).Owns(l) {
					owns++
				}
			}
			if owns != 1 {
				t.Fatalf("%s has %d owners of %d shards", name, owns, shards)
			}
		}
		mean := loadlines / shards
		for shard, n := range sizes {
			if n < mean*8/10 || n > mean*12/10 {
				t.Errorf("shard %d of %d has %d LoadLines, the mean is %d", shard, shards, n, mean)
			}
		}
	}
}

func shardLease(shard int, holder string, age time.Duration) *coordinationv1.Lease {
	l := leaseOf(holder, noon.Add(-age), 3)
	l.Name = LeaseOf(leaseKey.Name, shard)
	return l
}

// TestShardsAgree: a process writes only while all that may write have the same number of shards.
func TestShardsAgree(t *testing.T) {
	two, three := Sharding{Shards: 2}, Sharding{Shards: 3}
	us, them := two.Declare("us"), two.Declare("them")
	for _, row := range []struct {
		name   string
		of     Sharding
		leases []client.Object
		want   string
		stale  bool
	}{
		{"the first of two", Sharding{Shards: 2}, []client.Object{shardLease(0, us, time.Second), shardLease(1, them, time.Second)}, "", false},
		{"the first of two, alone", Sharding{Shards: 2}, []client.Object{shardLease(0, us, time.Second)}, "", false},
		{"the second of two", Sharding{Shards: 2, Shard: 1},
			[]client.Object{shardLease(0, them, time.Second), shardLease(1, us, time.Second)}, "", false},
		{"the second, whose lease another holds", Sharding{Shards: 2, Shard: 1},
			[]client.Object{shardLease(0, us, time.Second), shardLease(1, them, time.Second)}, "them_shards-2 holds the lease", true},
		{"the second, and the first is lost", Sharding{Shards: 2, Shard: 1},
			[]client.Object{shardLease(0, them, leaseLasts), shardLease(1, us, time.Second)}, "while no process holds the lease", false},
		{"the second, and the first was never there", Sharding{Shards: 2, Shard: 1},
			[]client.Object{shardLease(1, us, time.Second)}, "while no process holds the lease", false},
		{"the second, and the first knows no shards", Sharding{Shards: 2, Shard: 1},
			[]client.Object{shardLease(0, "them", time.Second), shardLease(1, us, time.Second)}, "has 1 shards, this process 2", true},
		{"the second, and the first has three", Sharding{Shards: 2, Shard: 1},
			[]client.Object{shardLease(0, three.Declare("them"), time.Second), shardLease(1, us, time.Second)}, "has 3 shards, this process 2",
			true},
		{"the first of two, and another of three is still there", Sharding{Shards: 2},
			[]client.Object{shardLease(0, us, time.Second), shardLease(2, three.Declare("them"), time.Second)},
			"until the lease loadline-system/loadline.dev.shard-2 is released or ends", false},
		{"the first of two, and another of three has gone", Sharding{Shards: 2},
			[]client.Object{shardLease(0, us, time.Second), shardLease(2, three.Declare("them"), leaseLasts)}, "", false},
		{"one for all, and a second of two is still there", Sharding{},
			[]client.Object{shardLease(0, "us", time.Second), shardLease(1, them, time.Second)}, "is released or ends", false},
		{"one for all, and a second of two was released", Sharding{},
			[]client.Object{shardLease(0, "us", time.Second), shardLease(1, "", time.Second)}, "", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			disagreed := false
			key := leaseKey
			key.Name = LeaseOf(leaseKey.Name, row.of.Shard)
			l := &Lease{Live: leased(t, row.leases...), Key: key, Identity: row.of.Declare("us"), Duration: leaseLasts,
				Now: func() time.Time { return noon }, Sharding: row.of, ByShards: true, Disagreed: func(error) { disagreed = true }}
			err := l.Check(withPass(t.Context(), noon, 15*time.Second))
			if row.want == "" && err != nil || row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)) ||
				errors.Is(err, errStale) != row.stale {
				t.Errorf("got %v", err)
			}
			if want := strings.Contains(row.want, "this process") && row.of.Shard > 0; disagreed != want {
				t.Errorf("disagreed is %v, want %v", disagreed, want)
			}
		})
	}
}
