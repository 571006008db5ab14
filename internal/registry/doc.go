// Package registry keeps the policies that were promoted: a folder with one
// folder for each application, in it every promoted version, and current.json,
// which names the current one.
//
//	registry/APP/current.json               the current version
//	registry/APP/0001/model.safetensors     its policy, the card completed with results
//	registry/APP/0001/promotion.json        where it comes from and why it was promoted
//	registry/APP/0001/card.md               the same in readable form
//	registry/APP/0001/twin.yaml             the application model with which it was judged
//	registry/APP/0001/judged.json           what it was judged on, and what was judged beside it
//
// A promotion is atomic: the version's folder is made under another name and moved into place,
// and then current.json is replaced. Killed anywhere, it leaves the former version or the new
// one as the current one. Versions are never changed or deleted, so that a rollback is
// possible.
//
// Reading order: registry.go (reading), promote.go (promotion and rollback), card.go
// (the model card).
package registry
