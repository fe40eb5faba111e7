package bicep

// function is one of Bicep's functions. A most of -1 is no limit.
type function struct {
	least, most int
	gives       *Type
}

var (
	anything    = (*Type)(nil)
	someString  = &Type{Kind: KindString}
	someInt     = &Type{Kind: KindInt}
	someBool    = &Type{Kind: KindBool}
	someArray   = &Type{Kind: KindArray}
	someObject  = &Type{Kind: KindObject, open: true}
	someStrings = &Type{Kind: KindArray, Item: someString}
)

// shape is an object type whose properties are all known.
func shape(name string, properties map[string]*Type) *Type {
	t := &Type{Kind: KindObject, Name: name, Properties: map[string]*Field{}}
	for property, kind := range properties {
		t.Properties[property] = &Field{Type: kind}
	}
	return t
}

// functions are those of Bicep's namespaces sys and az, apart from what is of no use in
// a deployment of resources. Source: Bicep's reference, "Bicep functions".
var functions = map[string]function{
	"any":                       {1, 1, anything},
	"array":                     {1, 1, someArray},
	"base64":                    {1, 1, someString},
	"base64ToJson":              {1, 1, anything},
	"base64ToString":            {1, 1, someString},
	"bool":                      {1, 1, someBool},
	"cidrHost":                  {2, 2, someString},
	"cidrSubnet":                {3, 3, someString},
	"concat":                    {0, -1, anything},
	"contains":                  {2, 2, someBool},
	"dataUri":                   {1, 1, someString},
	"dataUriToString":           {1, 1, someString},
	"dateTimeAdd":               {2, 3, someString},
	"dateTimeFromEpoch":         {1, 1, someString},
	"dateTimeToEpoch":           {1, 1, someInt},
	"deployer":                  {0, 0, shape("deployer()", map[string]*Type{"tenantId": someString, "objectId": someString, "userPrincipalName": someString})},
	"deployment":                {0, 0, shape("deployment()", map[string]*Type{"name": someString, "location": someString, "properties": someObject})},
	"empty":                     {1, 1, someBool},
	"endsWith":                  {2, 2, someBool},
	"environment":               {0, 0, environmentShape},
	"extensionResourceId":       {3, -1, someString},
	"fail":                      {1, 1, anything},
	"filter":                    {2, 2, someArray},
	"first":                     {1, 1, anything},
	"flatten":                   {1, 1, someArray},
	"format":                    {1, -1, someString},
	"groupBy":                   {2, 3, someObject},
	"guid":                      {1, -1, someString},
	"indexOf":                   {2, 2, someInt},
	"int":                       {1, 1, someInt},
	"intersection":              {1, -1, anything},
	"items":                     {1, 1, &Type{Kind: KindArray, Item: shape("items()", map[string]*Type{"key": someString, "value": anything})}},
	"join":                      {2, 2, someString},
	"json":                      {1, 1, anything},
	"last":                      {1, 1, anything},
	"lastIndexOf":               {2, 2, someInt},
	"length":                    {1, 1, someInt},
	"listKeys":                  {2, 3, anything},
	"loadFileAsBase64":          {1, 1, someString},
	"loadJsonContent":           {1, 3, anything},
	"loadTextContent":           {1, 2, someString},
	"loadYamlContent":           {1, 3, anything},
	"managementGroupResourceId": {2, -1, someString},
	"map":                       {2, 2, someArray},
	"mapValues":                 {2, 2, someObject},
	"max":                       {1, -1, someInt},
	"min":                       {1, -1, someInt},
	"newGuid":                   {0, 0, someString},
	"objectKeys":                {1, 1, someStrings},
	"padLeft":                   {2, 3, someString},
	"parseCidr": {1, 1, shape("parseCidr()", map[string]*Type{
		"network": someString, "netmask": someString, "broadcast": someString,
		"firstUsable": someString, "lastUsable": someString, "cidr": someInt,
	})},
	"pickZones": {3, 5, someStrings},
	"range":     {2, 2, &Type{Kind: KindArray, Item: someInt}},
	"reduce":    {3, 3, anything},
	"reference": {1, 3, anything},
	"replace":   {3, 3, someString},
	"resourceGroup": {0, 2, shape("resourceGroup()", map[string]*Type{
		"id": someString, "name": someString, "type": someString, "location": someString,
		"managedBy": someString, "tags": someObject, "properties": someObject,
	})},
	"resourceId":             {2, -1, someString},
	"shallowMerge":           {1, 1, someObject},
	"skip":                   {2, 2, anything},
	"sort":                   {2, 2, someArray},
	"split":                  {2, 2, someStrings},
	"startsWith":             {2, 2, someBool},
	"string":                 {1, 1, someString},
	"subscription":           {0, 1, shape("subscription()", map[string]*Type{"id": someString, "subscriptionId": someString, "tenantId": someString, "displayName": someString})},
	"subscriptionResourceId": {2, -1, someString},
	"substring":              {2, 3, someString},
	"take":                   {2, 2, anything},
	"tenant":                 {0, 0, shape("tenant()", map[string]*Type{"tenantId": someString, "country": someString, "countryCode": someString, "displayName": someString})},
	"tenantResourceId":       {2, -1, someString},
	"toLower":                {1, 1, someString},
	"toObject":               {2, 3, someObject},
	"toUpper":                {1, 1, someString},
	"trim":                   {1, 1, someString},
	"union":                  {1, -1, anything},
	"uniqueString":           {1, -1, someString},
	"uri":                    {2, 2, someString},
	"uriComponent":           {1, 1, someString},
	"uriComponentToString":   {1, 1, someString},
	"utcNow":                 {0, 1, someString},
}

var environmentShape = shape("environment()", map[string]*Type{
	"activeDirectoryDataLake": someString, "batch": someString, "gallery": someString, "graph": someString,
	"graphAudience": someString, "media": someString, "name": someString, "portal": someString,
	"resourceManager": someString, "sqlManagement": someString, "vmImageAliasDoc": someString,
	"authentication": shape("environment().authentication", map[string]*Type{
		"audiences": someStrings, "identityProvider": someString, "loginEndpoint": someString, "tenant": someString,
	}),
	"suffixes": shape("environment().suffixes", map[string]*Type{
		"acrLoginServer": someString, "azureDatalakeAnalyticsCatalogAndJob": someString, "azureDatalakeStoreFileSystem": someString,
		"keyvaultDns": someString, "sqlServerHostname": someString, "storage": someString,
	}),
})

// lambdas are how many parameters the lambda that a function takes may have, by the
// place of the argument.
var lambdas = map[string]map[int][2]int{
	"filter":    {1: {1, 2}},
	"groupBy":   {1: {1, 1}, 2: {1, 1}},
	"map":       {1: {1, 2}},
	"mapValues": {1: {1, 1}},
	"reduce":    {2: {2, 3}},
	"sort":      {1: {2, 2}},
	"toObject":  {1: {1, 1}, 2: {1, 1}},
}

// onlyInDefaults are functions that Bicep allows in defaults of parameters only, as they
// give something else each time.
var onlyInDefaults = map[string]bool{"newGuid": true, "utcNow": true}

// methods are functions called on a resource or module. Those of Azure that begin with
// list are many; the types say which of them there are.
var methods = map[string]function{
	"getSecret": {1, 2, someString},
	"listKeys":  {0, 2, anything},
}

// decorators are what may stand before which declaration, and with how many arguments.
var decorators = map[string]struct {
	least, most int
	on          []string
}{
	"description": {1, 1, []string{"param", "output", "var", "resource", "module"}},
	"allowed":     {1, 1, []string{"param"}},
	"minLength":   {1, 1, []string{"param", "output"}},
	"maxLength":   {1, 1, []string{"param", "output"}},
	"minValue":    {1, 1, []string{"param", "output"}},
	"maxValue":    {1, 1, []string{"param", "output"}},
	"secure":      {0, 0, []string{"param", "output"}},
	"batchSize":   {1, 1, []string{"resource", "module"}},
}
