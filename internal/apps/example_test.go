package apps_test

import (
	"fmt"

	"github.com/loadline/loadline/internal/apps"
)

func ExampleTree() {
	m, err := apps.Load("bookinfo")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(apps.Tree(m.App))
	// Output:
	// page  100 % of requests, p99 within 250ms, given up after 5s
	// productpage
	// ├─ details
	// └─ reviews  (versions v1, v2, v3)
	//    └─ ratings  (optional; by v2, v3)
}

func ExampleDrawGraph() {
	m, err := apps.Load("bookinfo")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(apps.DrawGraph(m.App))
	// Output:
	// users
	// └─▶ productpage    1.0000
	// productpage
	// ├─▶ details        1.0000
	// └─▶ reviews        1.0000
	// reviews
	// └─▶ ratings        0.6667  optional
}

func ExampleParse() {
	_, err := apps.Parse("shop.yaml", []byte("version: 1\nname: shop\nnodes: {n: {cores: -4, memory: 8Gi}}\nservice: {}\n"))
	fmt.Println(err)
	// Output:
	// shop.yaml:1: services is absent; must be a mapping from names to services, at least one
	// shop.yaml:1: kinds is absent; must be a mapping from names to kinds of requests, at least one
	// shop.yaml:3: nodes.n.cores is "-4"; must be cores above 0, such as 250m or 0.25
	// shop.yaml:4: service is "service"; must be one of the fields version, name, description, origins, routing, keepAlive, nodes, calls, services, kinds (did you mean "services"?)
}
