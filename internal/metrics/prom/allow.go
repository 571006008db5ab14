package prom

import (
	"fmt"
	"net/url"
	"strings"
)

// AllowList is the addresses that servers may have: scheme, host with port, and the beginning of the
// path. An empty list allows all.
type AllowList []*url.URL

// ParseAllowList reads addresses such as https://thanos.monitoring:9090/tenant-a. The host may begin
// with "*." for all hosts below a domain.
func ParseAllowList(addresses []string) (AllowList, error) {
	var list AllowList
	for _, address := range addresses {
		u, err := url.Parse(address)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			return nil, fmt.Errorf("allowed address %q must be http:// or https://, a host and perhaps a path, such as "+
				"http://prometheus.monitoring:9090", address)
		}
		list = append(list, u)
	}
	return list, nil
}

// Check reports an address that is not allowed.
func (l AllowList) Check(address string) error {
	if len(l) == 0 {
		return nil
	}
	u, err := url.Parse(address)
	if err != nil {
		return fmt.Errorf("the address cannot be read: %w", withoutURL(err))
	}
	for _, allowed := range l {
		if u.Scheme == allowed.Scheme && sameHost(u.Host, allowed.Host) && below(u.EscapedPath(), allowed.EscapedPath()) {
			return nil
		}
	}
	var names []string
	for _, allowed := range l {
		names = append(names, allowed.String())
	}
	return fmt.Errorf("the operator of Loadline does not allow the address %s; allowed are %s (loadline run --allow-prometheus)", u.Redacted(),
		strings.Join(names, ", "))
}

func sameHost(host, allowed string) bool {
	host, allowed = strings.ToLower(host), strings.ToLower(allowed)
	if domain, any := strings.CutPrefix(allowed, "*"); any {
		return strings.HasSuffix(host, domain) && len(host) > len(domain)
	}
	return host == allowed
}

// below reports whether a path is another or below it. One with dots could lead elsewhere.
func below(path, allowed string) bool {
	path, allowed = strings.TrimRight(path, "/"), strings.TrimRight(allowed, "/")
	if strings.Contains(path, "..") || strings.Contains(strings.ToLower(path), "%2e") || strings.Contains(strings.ToLower(path), "%2f") {
		return false
	}
	return path == allowed || strings.HasPrefix(path, allowed+"/")
}
