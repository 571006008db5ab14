package cli

import (
	"log/slog"
	"time"

	"github.com/spf13/pflag"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/loadline/loadline/internal/notify"
)

// notifyFlags are those of run for notices to other systems.
type notifyFlags struct{ notify.Options }

func (f *notifyFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.Webhook, "notify-webhook", "",
		"URL that gets a POST with JSON when a rung changes, a model is refused, an application drifts or burns its error budget; empty = none")
	flags.StringVar(&f.WebhookToken, "notify-webhook-token", "", "file with a bearer token for it")
	flags.StringVar(&f.Alertmanager, "notify-alertmanager", "",
		"Alertmanager that gets the same as alerts, such as http://alertmanager.monitoring:9093")
	flags.StringVar(&f.AlertmanagerAuth, "notify-alertmanager-token", "", "file with a bearer token for it")
}

func (f *notifyFlags) check() []error {
	if err := f.Validate(); err != nil {
		return []error{Usagef("--notify-webhook, --notify-alertmanager: %v", err)}
	}
	return nil
}

// start adds the notifier to the manager; nil without receivers.
func (f *notifyFlags) start(m ctrl.Manager, log *slog.Logger) (func(notify.Notice), error) {
	o := f.Options
	o.Log, o.Now = log, time.Now
	n, err := notify.New(o)
	if err != nil || n == nil {
		return nil, err
	}
	return n.Send, m.Add(n)
}
