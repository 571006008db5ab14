// Package registry keeps the policies that were promoted: a folder with one
// folder for each application, in it every version that ever was in charge, and
// current.json that says which one is now.
//
//	registry/APP/current.json               the version in charge
//	registry/APP/0001/model.safetensors     its policy, the card completed with results
//	registry/APP/0001/promotion.json        where it comes from and why it was promoted
//	registry/APP/0001/card.md               the same for people
//
// A promotion is whole or not at all: the version's folder is made under another
// name and moved into place, and then current.json is replaced. Killed anywhere,
// the former version or the new one is in charge. Versions are never changed or
// deleted, so that one can go back.
//
// Reading order: registry.go (what is there), promote.go (putting one in charge,
// and going back), card.go (what people read).
package registry
