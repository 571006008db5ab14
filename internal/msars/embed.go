package msars

import (
	"strings"

	"github.com/loadline/loadline/internal/modelfile"
)

// embed puts a model of another kind into a file: its networks under a prefix. The
// card that comes back says what they are.
func embed(file *modelfile.File, prefix string, of *modelfile.File) (*modelfile.Card, error) {
	for name := range of.Card.Networks {
		net, err := of.Net(name)
		if err != nil {
			return nil, err
		}
		file.Add(prefix+name, net)
	}
	card := of.Card
	card.Networks = nil
	return &card, nil
}

// extract puts a model's own file together again.
func extract(file *modelfile.File, prefix string, card modelfile.Card) (*modelfile.File, error) {
	own := modelfile.New(card)
	for name := range file.Card.Networks {
		short, ours := strings.CutPrefix(name, prefix)
		if !ours {
			continue
		}
		net, err := file.Net(name)
		if err != nil {
			return nil, err
		}
		own.Add(short, net)
	}
	return own, nil
}
