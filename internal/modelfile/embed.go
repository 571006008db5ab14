package modelfile

import "strings"

// Embed puts a model of another kind into the file: its networks, under a prefix. The returned
// card describes them, and is for the settings.
func (f *File) Embed(prefix string, of *File) (*Card, error) {
	for name := range of.Card.Networks {
		net, err := of.Net(name)
		if err != nil {
			return nil, err
		}
		f.Add(prefix+name, net)
	}
	card := of.Card
	card.Networks = nil
	return &card, nil
}

// Embedded extracts the file of such a model.
func (f *File) Embedded(prefix string, card *Card) (*File, error) {
	own := New(*card)
	for name := range f.Card.Networks {
		short, ours := strings.CutPrefix(name, prefix)
		if !ours {
			continue
		}
		net, err := f.Net(name)
		if err != nil {
			return nil, err
		}
		own.Add(short, net)
	}
	return own, nil
}
