package console

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loadline/loadline/api/v1alpha1"
)

const (
	// reviewedFor is how long an answer of the API server about a user is used: as long as a right
	// or a token that was withdrawn may still be good for.
	reviewedFor = 15 * time.Second
	// mostReviews are kept, of tokens and of rights each.
	mostReviews = 4096
	// reviewsAtOnce are asked of the API server at the same time.
	reviewsAtOnce = 16
	// mostToken is the size of a token; those of service accounts have about 1 kB.
	mostToken = 16 << 10
)

// TokenHeader has the token of requests that reach us through the API server's proxy, which
// takes Authorization for itself.
const TokenHeader = "Loadline-Token"

// user is who a token belongs to.
type user struct {
	key  [32]byte // digest of the token
	info authenticationv1.UserInfo
}

// errNoToken: who asks is not known.
var errNoToken = errors.New("a token of the cluster is needed: Authorization: Bearer TOKEN, or " + TokenHeader +
	": TOKEN through the API server's proxy")

// access asks the API server who users are and what they may read.
type access struct {
	reviews interface {
		Create(ctx context.Context, o client.Object, options ...client.CreateOption) error
	}
	now    func() time.Time
	asking chan struct{}
	tokens cache[[32]byte, *authenticationv1.UserInfo] // nil = the token is not valid
	rights cache[right, bool]
}

// right is a question about a user.
type right struct {
	user            [32]byte
	verb, namespace string
	name            string // "" = all of the namespace
}

func newAccess(reviews client.Client, now func() time.Time) *access {
	return &access{reviews: reviews, now: now, asking: make(chan struct{}, reviewsAtOnce)}
}

// tokenOf a request, and whether it came by the API server's proxy.
func tokenOf(r *http.Request) (token string, proxied bool) {
	if t := r.Header.Get(TokenHeader); t != "" {
		return t, true
	}
	scheme, t, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", false
	}
	return strings.TrimSpace(t), false
}

// userOf a request. The error is errNoToken unless the API server does not answer.
func (a *access) userOf(ctx context.Context, r *http.Request) (user, error) {
	token, _ := tokenOf(r)
	if token == "" || len(token) > mostToken {
		return user{}, errNoToken
	}
	key := sha256.Sum256([]byte(token))
	info, known := a.tokens.get(key, a.now())
	if !known {
		review := authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}
		if err := a.create(ctx, &review); err != nil {
			return user{}, err
		}
		if review.Status.Authenticated {
			info = &review.Status.User
		}
		a.tokens.put(key, info, a.now())
	}
	if info == nil {
		return user{}, errNoToken
	}
	return user{key, *info}, nil
}

// may reports whether a user may read LoadLines: one, those of a namespace, or with an empty
// namespace those of all.
func (a *access) may(ctx context.Context, u user, verb, namespace, name string) (bool, error) {
	q := right{u.key, verb, namespace, name}
	if allowed, known := a.rights.get(q, a.now()); known {
		return allowed, nil
	}
	extra := map[string]authorizationv1.ExtraValue{}
	for key, values := range u.info.Extra {
		extra[key] = authorizationv1.ExtraValue(values)
	}
	review := authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: u.info.Username, UID: u.info.UID, Groups: u.info.Groups, Extra: extra,
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: verb, Group: v1alpha1.GroupVersion.Group, Version: v1alpha1.GroupVersion.Version, Resource: "loadlines",
			Namespace: namespace, Name: name,
		},
	}}
	if err := a.create(ctx, &review); err != nil {
		return false, err
	}
	allowed := review.Status.Allowed && !review.Status.Denied
	a.rights.put(q, allowed, a.now())
	return allowed, nil
}

// mayRead reports whether a user may read one LoadLine.
func (a *access) mayRead(ctx context.Context, u user, namespace, name string) (bool, error) {
	if all, err := a.may(ctx, u, "list", "", ""); all || err != nil {
		return all, err
	}
	if in, err := a.may(ctx, u, "list", namespace, ""); in || err != nil {
		return in, err
	}
	return a.may(ctx, u, "get", namespace, name)
}

// mayList reports whether a user may list the LoadLines of a namespace.
func (a *access) mayList(ctx context.Context, u user, namespace string) (bool, error) {
	if all, err := a.may(ctx, u, "list", "", ""); all || err != nil {
		return all, err
	}
	return a.may(ctx, u, "list", namespace, "")
}

// create asks the API server for a review. The error says nothing of the token.
func (a *access) create(ctx context.Context, review client.Object) error {
	select {
	case a.asking <- struct{}{}:
		defer func() { <-a.asking }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := a.reviews.Create(ctx, review); err != nil {
		return fmt.Errorf("the API server does not answer who may read: %w", err)
	}
	return nil
}

// cache keeps values for reviewedFor, and at most mostReviews of them.
type cache[K comparable, V any] struct {
	mu   sync.Mutex
	kept map[K]kept[V]
}

type kept[V any] struct {
	value V
	at    time.Time
}

func (c *cache[K, V]) get(key K, now time.Time) (value V, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k, known := c.kept[key]
	if age := now.Sub(k.at); !known || age < 0 || age >= reviewedFor {
		return value, false
	}
	return k.value, true
}

func (c *cache[K, V]) put(key K, value V, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept == nil {
		c.kept = map[K]kept[V]{}
	}
	if len(c.kept) >= mostReviews {
		for k, v := range c.kept {
			if now.Sub(v.at) >= reviewedFor {
				delete(c.kept, k)
			}
		}
	}
	for k := range c.kept { // any other, if all are recent
		if len(c.kept) < mostReviews {
			break
		}
		delete(c.kept, k)
	}
	c.kept[key] = kept[V]{value, now}
}
