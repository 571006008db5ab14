package v1alpha1

// PrometheusServer is a server with the Prometheus API (Prometheus itself, Thanos,
// Mimir, VictoriaMetrics), and how to connect to it.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.bearerToken) && has(self.basicAuth))",message="bearerToken and basicAuth are both given: keep the one that the server asks for"
// +kubebuilder:validation:XValidation:rule="!has(self.tls) || !has(self.url) || self.url.startsWith('https://')",message="tls has no effect on an http:// url: write https:// or leave tls out"
type PrometheusServer struct {
	// The address of the server, such as http://prometheus.monitoring:9090. It must
	// not contain names or passwords: use bearerToken or basicAuth.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="isURL(self) && (self.startsWith('http://') || self.startsWith('https://'))",message="must be an address such as http://prometheus.monitoring:9090"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^https?://[^/]*@')",message="contains a name or password, readable by everyone who can read this resource: use basicAuth"
	URL string `json:"url,omitempty"`

	// The timeout of a query.
	// +optional
	// +kubebuilder:default="10s"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) <= duration('2m')",message="must be from 1s to 2m"
	Timeout Duration `json:"timeout,omitzero"`

	// A bearer token: a key of a Secret in this namespace.
	// +optional
	BearerToken *SecretKey `json:"bearerToken,omitempty"`

	// Basic authentication: a Secret in this namespace with the keys username and
	// password, such as one of the type kubernetes.io/basic-auth.
	// +optional
	BasicAuth *SecretName `json:"basicAuth,omitempty"`

	// TLS settings, in addition to the system's certificate authorities.
	// +optional
	TLS *TLS `json:"tls,omitempty"`

	// Headers sent with every query, such as the tenant's.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Headers []Header `json:"headers,omitempty"`
}

// PrometheusSource is the source of an application's metrics: a server, and what is
// asked of it.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.preset) && has(self.queries))",message="preset and queries are both given: keep one; your own queries may extend a preset with \"with: [NAME]\""
// +kubebuilder:validation:XValidation:rule="has(self.url) || !(has(self.bearerToken) || has(self.basicAuth) || has(self.tls) || has(self.headers))",message="without url the server of the class is used, with its credentials: give url, or leave bearerToken, basicAuth, tls and headers out"
type PrometheusSource struct {
	// The server. Without url it is that of the class.
	PrometheusServer `json:",inline"`

	// The namespace whose metrics are read. Left out, it is that of this resource.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`

	// The preset of queries, named after what measures the traffic. Without preset
	// and queries the first preset that returns results is used.
	// +optional
	// +kubebuilder:validation:Enum=istio;linkerd;otel-spanmetrics;otel-http;knative;nginx-ingress;cadvisor-ksm
	Preset string `json:"preset,omitempty"`

	// Your own queries: a key of a ConfigMap in this namespace with a file in the
	// format of "loadline history presets NAME".
	// +optional
	Queries *ConfigMapKey `json:"queries,omitempty"`

	// Values for the variables of the preset or of the queries, such as ok:
	// code="200". They are fragments of PromQL.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.matches('^[a-z][a-z0-9_]{0,62}$'))",message="the name of a variable consists of lower-case letters, digits and underscores"
	Variables map[string]VariableValue `json:"variables,omitempty"`

	// The scrape interval of the server. Left out, it is detected from the series.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) <= duration('10m')",message="must be from 1s to 10m"
	ScrapeInterval *Duration `json:"scrapeInterval,omitempty"`
}

// VariableValue is a fragment of PromQL.
//
// +kubebuilder:validation:MaxLength=512
type VariableValue string

// TLS of a connection.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.caSecret) && has(self.caConfigMap))",message="caSecret and caConfigMap are both given: keep one"
// +kubebuilder:validation:XValidation:rule="!self.insecureSkipVerify || !(has(self.caSecret) || has(self.caConfigMap))",message="insecureSkipVerify accepts any certificate, so an authority has no effect: leave one of them out"
type TLS struct {
	// The certificate authority of the server: a key of a Secret in this namespace.
	// +optional
	CASecret *SecretKey `json:"caSecret,omitempty"`

	// The certificate authority of the server: a key of a ConfigMap in this
	// namespace, such as kube-root-ca.crt.
	// +optional
	CAConfigMap *ConfigMapKey `json:"caConfigMap,omitempty"`

	// The client certificate: a Secret in this namespace with the keys tls.crt and
	// tls.key, such as one of the type kubernetes.io/tls.
	// +optional
	ClientCertificate *SecretName `json:"clientCertificate,omitempty"`

	// The host name in the server's certificate, if it differs from that in the URL.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ServerName string `json:"serverName,omitempty"`

	// Accept any certificate. A man in the middle can then forge metrics.
	// +optional
	// +kubebuilder:default=false
	InsecureSkipVerify bool `json:"insecureSkipVerify,omitempty"`
}

// Header is sent with every query.
//
// +kubebuilder:validation:XValidation:rule="has(self.value) != has(self.secret)",message="give either value or secret"
type Header struct {
	// The name, such as X-Scope-OrgID.
	// +required
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9-]+$')",message="must consist of letters, digits and hyphens"
	// +kubebuilder:validation:XValidation:rule="self.lowerAscii() != 'authorization'",message="is set by bearerToken and basicAuth: use those"
	Name string `json:"name"`

	// Its value, in plain text.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Value string `json:"value,omitempty"`

	// Its value, from a key of a Secret in this namespace.
	// +optional
	Secret *SecretKey `json:"secret,omitempty"`
}

// SecretName is a Secret of the resource's namespace.
type SecretName struct {
	// Name of the Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// SecretKey is a key of a Secret of the resource's namespace.
type SecretKey struct {
	// Name of the Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// Key in the Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key"`
}

// ConfigMapKey is a key of a ConfigMap of the resource's namespace.
type ConfigMapKey struct {
	// Name of the ConfigMap.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// Key in the ConfigMap.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key"`
}
