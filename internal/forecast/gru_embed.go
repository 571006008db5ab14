package forecast

import (
	"fmt"

	"github.com/loadline/loadline/internal/modelfile"
)

// embedPrefix is the prefix of the names of a service's networks.
func embedPrefix(service int) string { return fmt.Sprintf("forecast%d-", service) }

// Embed puts the forecasters of services, nil = none, into the model file of the policy that
// uses them. The returned cards, by service, are for its settings.
func Embed(file *modelfile.File, services []string, all []*GRU) (map[string]*modelfile.Card, error) {
	cards := map[string]*modelfile.Card{}
	for i, gru := range all {
		if gru == nil {
			continue
		}
		own, err := gru.File(services[i], nil)
		if err == nil {
			cards[services[i]], err = file.Embed(embedPrefix(i), own)
		}
		if err != nil {
			return nil, fmt.Errorf("forecaster of %s: %w", services[i], err)
		}
	}
	return cards, nil
}

// Embedded returns the forecasters of services, nil = none, from a model file.
func Embedded(file *modelfile.File, services []string, cards map[string]*modelfile.Card) ([]*GRU, error) {
	all := make([]*GRU, len(services))
	for i, service := range services {
		card := cards[service]
		if card == nil {
			continue
		}
		own, err := file.Embedded(embedPrefix(i), card)
		if err == nil {
			all[i], err = LoadGRU(own)
		}
		if err != nil {
			return nil, fmt.Errorf("forecaster of %s: %w", service, err)
		}
	}
	return all, nil
}
