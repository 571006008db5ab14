// Package policy is the registry of methods: rules, the papers' methods and any other. A method
// defines how a policy is made by name ("hpa", "hpa:target=60,down-window=120s"), which of its
// settings can be searched, whether it reads a model file and how that is opened, and how a
// model of it is trained. Adding a method is adding a Method to the registry: nothing else
// lists them.
//
// Reading order: methods.go (the registry), model.go (model files), training.go (how a
// method is trained), settings.go (settings and their checks), search.go (what can be
// searched), then one file for each method; dqn*.go are the formulations that DQN
// learns.
package policy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/modelfile"
	"github.com/loadline/loadline/internal/suggest"
)

// Method is anything that can become a policy, trained or not. One that is trained and
// whose models another method's policy reads (ReadBy) has a name, what it is about and
// how it is trained, and nothing else.
type Method struct {
	Name  string
	Alias string // an earlier name, which is accepted and not listed; "" = none
	About string

	// Options are the settings, which may depend on the application. A method that
	// reads a model file has the setting "file" besides; it is not listed here. Nil =
	// there are none.
	Options func(app *loadline.App) []Option
	// New makes a policy that reads no model file.
	New func(app *loadline.App, v Values) (loadline.Policy, error)
	// Oracle: it is given the load in advance. It is a reference, not a contender, and
	// its schedule is searched for each run.
	Oracle bool

	// Kind of the card of its model files; "" = it reads none.
	Kind string
	// Open takes a model out of its file.
	Open func(*modelfile.File) (Model, error)
	// NewFrom makes the policy of a model with settings; nil = Model.Policy, without
	// any.
	NewFrom func(m Model, app *loadline.App, v Values) (loadline.Policy, error)

	// LearnsHistory: its policies can start with a history of the application, from the folder that
	// the setting "history" names, or by their method LearnHistory.
	LearnsHistory bool

	// Search is what may be searched of its settings; none = it is not calibrated.
	Search []Dimension
	// SearchEngine is the engine in which settings are searched; "" = the fluid one.
	SearchEngine string

	// Train trains a model; nil = it cannot be trained.
	Train func(ctx context.Context, t Task) (*Trained, error)
	// Variant gives the settings with which the n-th of several models is trained, from
	// 1; nil = models differ by their seeds alone.
	Variant func(n int) (Variant, error)
	// CheckSettings says what is wrong with settings of a variant; nil = it has none.
	CheckSettings func(settings []byte) error
	// TakesShares: it can be trained with given parts of the SLO (Task.Shares).
	TakesShares bool
	// ReadBy is the method whose policy reads the models of this one; "" = its own.
	ReadBy string
}

// registered are the production methods, in the order in which they are listed, and
// those that Register added.
var registered = slices.Concat(
	[]Method{
		staticMethod, hpaMethod, kedaMethod, phpaMethod, sreMethod, kpaMethod, hybridMethod, vpaMethod, hpaVPAMethod, ursaMethod, autothrottleMethod,
		plannerMethod, modelMethod, drpcMethod, branchingMethod, msarsMethod, oracleMethod,
	},
	dqnMethods(),
)

// Register adds methods. It is for the start of a program, before anything looks one
// up, and panics where a method is incomplete or its name or its kind of model file is
// taken: that is a mistake of the program, not of its user.
func Register(methods ...Method) {
	for _, m := range methods {
		if err := m.check(); err != nil {
			panic(fmt.Sprintf("policy.Register: method %q: %v", m.Name, err))
		}
		registered = append(registered, m)
	}
}

func (m Method) check() error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if m.Name == "" || strings.ContainsAny(m.Name, ":,@/\\ ") {
		fault("its name must be a word without :,@/\\")
	}
	if m.About == "" {
		fault("it does not say what it is about")
	}
	if m.ReadBy != "" {
		if by, err := find(m.ReadBy); err != nil || !by.ReadsFile() {
			fault("its models are read by %q, which is no method that reads model files", m.ReadBy)
		}
	} else if m.ReadsFile() == (m.New != nil) || m.ReadsFile() != (m.Open != nil) {
		fault("it must have New, or Kind and Open")
	}
	if m.Train != nil && m.ReadBy == "" && !m.ReadsFile() {
		fault("it is trained and reads no model file")
	}
	for _, other := range registered {
		if other.called(m.Name) || m.Alias != "" && other.called(m.Alias) {
			fault("a method of this name is there already")
		}
		if m.ReadsFile() && other.Kind == m.Kind {
			fault("%s has model files of the same kind %s", other.Name, m.Kind)
		}
	}
	return errors.Join(faults...)
}

// ReadsFile says whether the method's policies come from a model file.
func (m Method) ReadsFile() bool { return m.Kind != "" }

func (m Method) called(name string) bool { return m.Name == name || m.Alias != "" && m.Alias == name }

// Canonical is a policy with the current name of its method in place of an alias.
// Unknown names stay as they are.
func Canonical(spec string) string {
	name, _, _ := strings.Cut(spec, ":")
	if m, err := Named(name); err == nil && m.Alias == name {
		return m.Name + spec[len(name):]
	}
	return spec
}

// decides: policies are made by this name.
func (m Method) decides() bool { return m.ReadBy == "" }

// Spec of the policy that decides by a model file of this method: NAME:file=PATH.
// Settings follow, if there are any.
func (m Method) Spec(path, settings string) string {
	name := m.Name
	if m.ReadBy != "" {
		name = m.ReadBy
	}
	if settings != "" {
		settings = "," + settings
	}
	return fmt.Sprintf("%s:file=%s%s", name, path, settings)
}

// options with the one of the model file before the method's own.
func (m Method) options(app *loadline.App) []Option {
	var all []Option
	if m.ReadsFile() {
		all = append(all, Option{Key: fileKey, About: "model file, as loadline train or promote wrote it", Check: notEmpty})
	}
	if m.Options != nil {
		all = append(all, m.Options(app)...)
	}
	return all
}

// New makes a policy from its name and settings. Every fault is reported at
// once.
func New(spec string, app *loadline.App) (loadline.Policy, error) {
	m, v, err := read(spec, app)
	if err != nil {
		return nil, err
	}
	p, err := m.make(app, v)
	if err != nil {
		return nil, fmt.Errorf("policy %s: %w", m.Name, err)
	}
	return p, nil
}

func (m Method) make(app *loadline.App, v Values) (loadline.Policy, error) {
	if !m.ReadsFile() {
		return m.New(app, v)
	}
	if !v.IsSet(fileKey) {
		return nil, fmt.Errorf("file is missing: write %s:file=PATH, a model file that loadline train wrote", m.Name)
	}
	model, err := modelfile.Load(v[fileKey], m.Open)
	if err != nil {
		return nil, err
	}
	if m.NewFrom == nil {
		return model.Policy(app)
	}
	return m.NewFrom(model, app, v)
}

// CheckSettings says what is wrong with a policy's name and settings, without opening
// the files that they name: for a model that is yet to be trained.
func CheckSettings(spec string, app *loadline.App) error {
	_, _, err := read(spec, app)
	return err
}

// Named is the method whose policies are made by a name.
func Named(name string) (Method, error) {
	m, err := find(name)
	if err != nil || !m.decides() {
		return Method{}, fmt.Errorf("unknown policy %q%s", name, suggest.Hint(name, Names()))
	}
	return m, nil
}

// Trainable is the method of a name, if it can be trained.
func Trainable(name string) (Method, error) {
	m, err := find(name)
	if err != nil || m.Train == nil {
		return Method{}, fmt.Errorf("no method that can be trained is called %q%s", name, suggest.Hint(name, TrainableNames()))
	}
	return m, nil
}

func find(name string) (Method, error) {
	i := slices.IndexFunc(registered, func(m Method) bool { return m.called(name) })
	if i < 0 {
		return Method{}, fmt.Errorf("unknown method %q", name)
	}
	return registered[i], nil
}

// Methods that policies are made of, in the order in which they are listed.
func Methods() []Method { return methodsThat(Method.decides) }

// Names of the methods that policies are made of.
func Names() []string { return namesOf(Methods()) }

// TrainableMethods are those that can be trained.
func TrainableMethods() []Method {
	return methodsThat(func(m Method) bool { return m.Train != nil })
}

// TrainableNames of the methods that can be trained.
func TrainableNames() []string { return namesOf(TrainableMethods()) }

func methodsThat(are func(Method) bool) []Method {
	var all []Method
	for _, m := range registered {
		if are(m) {
			all = append(all, m)
		}
	}
	return all
}

func namesOf(methods []Method) []string {
	names := make([]string, len(methods))
	for i, m := range methods {
		names[i] = m.Name
	}
	return names
}

// Info is what help says of a policy.
type Info struct {
	Name, About string
	Options     []Option
}

// List describes all policies.
func List() []Info {
	var all []Info
	for _, m := range Methods() {
		all = append(all, Info{m.Name, m.About, m.options(&loadline.App{})})
	}
	return all
}
