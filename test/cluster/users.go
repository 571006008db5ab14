package cluster

import (
	"crypto/rand"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// User is an identity with its own token at the API server. Its permissions are those of the
// cluster's roles, so that permissions are really tested.
type User struct {
	Name   string
	Groups []string
}

// Admin may do everything.
var Admin = User{Name: "admin", Groups: []string{"system:masters"}}

// Loadline is the controller's service account: it may do what the manifests of
// deploy/rbac allow, once InstallLoadline has applied them, and no more.
var Loadline = ServiceAccount("loadline-system", "loadline")

// ServiceAccount is a service account as a User. Add it to Options.Users to have a
// token for it.
func ServiceAccount(namespace, name string) User {
	return User{
		Name:   "system:serviceaccount:" + namespace + ":" + name,
		Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace},
	}
}

// The components of the control plane, which have Kubernetes' own roles.
var (
	controllerManager = User{Name: "system:kube-controller-manager"}
	scheduler         = User{Name: "system:kube-scheduler"}
)

// writeTokens gives every user a token and writes the file that the API server
// reads at its start.
func (c *Cluster) writeTokens() error {
	c.tokens = map[string]string{}
	file, err := os.OpenFile(filepath.Join(c.pki.dir, "tokens.csv"), os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	w := csv.NewWriter(file)
	for i, u := range append([]User{Admin, Loadline, controllerManager, scheduler}, c.options.Users...) {
		if _, twice := c.tokens[u.Name]; twice {
			continue
		}
		c.tokens[u.Name] = rand.Text()
		row := []string{c.tokens[u.Name], u.Name, fmt.Sprint(i)}
		if len(u.Groups) > 0 {
			row = append(row, strings.Join(u.Groups, ","))
		}
		if err := w.Write(row); err != nil {
			return err
		}
	}
	w.Flush()
	return w.Error()
}

// Config is how a user reaches the API server.
func (c *Cluster) Config(u User) *rest.Config {
	token, known := c.tokens[u.Name]
	if !known {
		panic(fmt.Sprintf("cluster: %s has no token: name it in Options.Users", u.Name))
	}
	return &rest.Config{
		Host:            c.url(),
		BearerToken:     token,
		TLSClientConfig: rest.TLSClientConfig{CAData: c.pki.caText},
		QPS:             500, Burst: 1000,
	}
}

// Kubeconfig is the path of a file with which a user, or a program that acts for it, reaches
// the API server. It is written once: a program of a parallel test may be reading it.
func (c *Cluster) Kubeconfig(u User) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if path := c.kubeconfigs[u.Name]; path != "" {
		return path, nil
	}
	path := filepath.Join(c.dir, strings.ReplaceAll(u.Name, ":", "-")+".kubeconfig")
	if err := c.writeKubeconfig(u, path); err != nil {
		return "", err
	}
	if c.kubeconfigs == nil {
		c.kubeconfigs = map[string]string{}
	}
	c.kubeconfigs[u.Name] = path
	return path, nil
}

// kubeconfigAt is the same for another address of the API server; "" = its own.
func (c *Cluster) kubeconfigAt(u User, server string) (string, error) {
	if server == "" {
		return c.Kubeconfig(u)
	}
	_, port, _ := strings.Cut(strings.TrimPrefix(server, "http://"), ":")
	path := filepath.Join(c.dir, strings.ReplaceAll(u.Name, ":", "-")+"-"+port+".kubeconfig")
	return path, c.writeKubeconfigAt(u, server, path)
}

func (c *Cluster) writeKubeconfig(u User, path string) error {
	return c.writeKubeconfigAt(u, c.url(), path)
}

func (c *Cluster) writeKubeconfigAt(u User, server, path string) error {
	cfg := c.Config(u)
	file := clientcmdapi.NewConfig()
	file.Clusters["cluster"] = &clientcmdapi.Cluster{Server: server}
	if server == c.url() {
		file.Clusters["cluster"].CertificateAuthorityData = cfg.CAData
	}
	file.AuthInfos["user"] = &clientcmdapi.AuthInfo{Token: cfg.BearerToken}
	file.Contexts["context"] = &clientcmdapi.Context{Cluster: "cluster", AuthInfo: "user"}
	file.CurrentContext = "context"
	return clientcmd.WriteToFile(*file, path)
}
