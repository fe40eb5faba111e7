// First stage: the resources that all components share. The second stage finds them by name, from
// name and environmentName. To change a parameter that cannot be changed later, use another
// environmentName.

targetScope = 'resourceGroup'

@description('Prefix of all names: lower-case letters and digits, starting with a letter.')
@minLength(2)
@maxLength(11)
param name string = 'matoolkit'

@description('Name of this deployment, such as dev, test or prod: lower-case letters and digits.')
@minLength(2)
@maxLength(8)
param environmentName string

@description('Region of all resources. It must offer Flex Consumption: az functionapp list-flexconsumption-locations.')
param location string = resourceGroup().location

@description('Tags of all resources, in addition to application and environment.')
param tags object = {}

@description('True: a virtual network with private endpoints and Service Bus Premium. False: public endpoints, protected by roles. It cannot be changed later.')
param privateNetwork bool

@description('With privateNetwork: IPv4 addresses or CIDR ranges up to /30 that may write secrets. Empty: only from within the network.')
param deployerAddresses array = []

@description('Users, groups or service principals that may write certificates and secrets: {id, type} each, with the object id and User, Group or ServicePrincipal.')
param vaultOfficers array = []

@description('Users, groups or service principals that may push images of the worker: {id, type} each, as in vaultOfficers.')
param imagePushers array = []

@description('Address ranges of the virtual network, in CIDR notation.')
@minLength(1)
param addressSpace array = [
  '10.0.0.0/16'
]

@description('Subnet of the Functions app, in CIDR notation.')
param functionsSubnet string = '10.0.1.0/24'

@description('Subnet of the Container Apps environment, in CIDR notation. It cannot be changed later.')
param workerSubnet string = '10.0.4.0/23'

@description('Subnet of the private endpoints, in CIDR notation.')
param privateEndpointSubnet string = '10.0.10.0/24'

@description('Names of topics and subscriptions that are not the default: setting to name, such as WORKER_JOBS_TOPIC to jobs. The other stages need the same.')
param busNames object = {}

@description('With privateNetwork: a NAT gateway with a public address for the outbound traffic of the app and the workers. False: they use outbound addresses of the platform, which change; delete an existing gateway by hand.')
param natGateway bool = true

@description('Availability zone of the NAT gateway. Empty: Azure chooses one. It cannot be changed later.')
@allowed([
  ''
  '1'
  '2'
  '3'
])
param natGatewayZone string = ''

@description('With privateNetwork: messaging units of Service Bus Premium.')
@allowed([
  1
  2
  4
  8
  16
])
param serviceBusCapacity int = 1

@description('With privateNetwork: spread the Container Apps environment over availability zones. Service Bus and Key Vault always do. It cannot be changed later.')
param zoneRedundant bool = false

@description('Tier of the container registry.')
@allowed([
  'Basic'
  'Standard'
  'Premium'
])
param registrySku string = 'Basic'

@description('Days in which a deleted secret or vault can be recovered. It cannot be changed later.')
@minValue(7)
@maxValue(90)
param softDeleteDays int = 7

@description('True for one deployment: recover the deleted vault of this name, if the resource group was deleted less than softDeleteDays ago.')
param recoverVault bool = false

@description('Days that logs are kept.')
@minValue(30)
@maxValue(730)
param logRetentionDays int = 30

@description('Gigabytes of logs per day, after which no more are accepted; -1: no limit.')
@minValue(-1)
param logDailyQuotaGb int = -1

@description('Locks that prevent the deletion of resources that store data, and of roles on them. The deployer needs the role Locks Contributor.')
param deleteLocks bool = false

var base = '${name}-${environmentName}'
// The settings of names, with their defaults. Topics are compared without case, as Service Bus does;
// the prefix and an id of 43 characters make a subscription of 50.
var defaultNames = any(loadJsonContent('../bus-names.json'))
var givenNames = union(defaultNames, busNames)
var topicNames = map(
  filter(items(givenNames), item => endsWith(item.key, '_TOPIC')),
  item => toLower(item.value)
)
var settingNames = length(givenNames) > length(defaultNames)
  ? fail('busNames: the settings are ${join(map(items(defaultNames), item => item.key), ', ')}')
  : length(union(topicNames, [])) < length(topicNames)
      ? fail('busNames: give each topic its own name')
      : length(givenNames.WORKER_SUBSCRIPTION_PREFIX) > 7
          ? fail('busNames: WORKER_SUBSCRIPTION_PREFIX has at most 7 characters')
          : givenNames

// From the names in topology.json to those in the namespace.
var names = toObject(items(defaultNames), item => item.value, item => settingNames[item.key])

var allTags = union(
  {
    application: name
    environment: environmentName
  },
  tags
)

module monitoring 'monitoring.bicep' = {
  name: '${base}-monitoring'
  params: {
    workspaceName: '${base}-log'
    insightsName: '${base}-appi'
    location: location
    tags: allTags
    retentionDays: logRetentionDays
    dailyQuotaGb: logDailyQuotaGb
  }
}

module nat 'nat.bicep' = if (privateNetwork && natGateway) {
  name: '${base}-nat'
  params: {
    gatewayName: '${base}-nat'
    addressName: '${base}-nat-ip'
    location: location
    tags: allTags
    zone: natGatewayZone
  }
}

module network 'network.bicep' = if (privateNetwork) {
  name: '${base}-network'
  params: {
    virtualNetworkName: '${base}-vnet'
    location: location
    tags: allTags
    addressSpace: addressSpace
    functionsSubnet: functionsSubnet
    workerSubnet: workerSubnet
    privateEndpointSubnet: privateEndpointSubnet
    natGatewayId: privateNetwork && natGateway ? nat!.outputs.gatewayId : ''
  }
}

module dns 'dns.bicep' = if (privateNetwork) {
  name: '${base}-dns'
  params: {
    virtualNetworkId: privateNetwork ? network!.outputs.virtualNetworkId : ''
    linkName: '${base}-vnet'
    tags: allTags
  }
}

module bus 'servicebus.bicep' = {
  name: '${base}-bus'
  params: {
    namespaceName: '${base}-bus'
    names: names
    location: location
    tags: allTags
    privateNetwork: privateNetwork
    capacity: serviceBusCapacity
    privateEndpointSubnetId: privateNetwork ? network!.outputs.privateEndpointSubnetId : ''
    privateEndpointName: '${base}-pe-bus'
    deleteLock: deleteLocks
    workspaceId: monitoring.outputs.workspaceId
  }
  // The endpoint refers to its zone by name.
  dependsOn: [
    dns
  ]
}

module vault 'keyvault.bicep' = {
  name: '${base}-kv'
  params: {
    vaultName: '${base}-kv'
    location: location
    tags: allTags
    privateNetwork: privateNetwork
    allowedAddresses: privateNetwork ? deployerAddresses : []
    softDeleteDays: softDeleteDays
    recoverVault: recoverVault
    vaultOfficers: vaultOfficers
    privateEndpointSubnetId: privateNetwork ? network!.outputs.privateEndpointSubnetId : ''
    privateEndpointName: '${base}-pe-kv'
    deleteLock: deleteLocks
    workspaceId: monitoring.outputs.workspaceId
  }
  dependsOn: [
    dns
  ]
}

// One identity pulls the images of all workers. It exists before the first worker, so that its role
// is in effect.
module pullIdentity 'identity.bicep' = {
  name: '${base}-pull-id'
  params: {
    identityName: '${base}-pull-id'
    location: location
    tags: allTags
  }
}

module registry 'registry.bicep' = {
  name: '${base}-registry'
  params: {
    registryName: '${name}${environmentName}acr'
    location: location
    tags: allTags
    sku: registrySku
    pullIdentityName: '${base}-pull-id'
    pullPrincipalId: pullIdentity.outputs.principalId
    imagePushers: imagePushers
    workspaceId: monitoring.outputs.workspaceId
  }
}

module containerEnvironment 'environment.bicep' = {
  name: '${base}-environment'
  params: {
    containerEnvironmentName: '${base}-cae'
    location: location
    tags: allTags
    privateNetwork: privateNetwork
    subnetId: privateNetwork ? network!.outputs.workerSubnetId : ''
    zoneRedundant: zoneRedundant
    workspaceId: monitoring.outputs.workspaceId
  }
}

@description('Host name of the Service Bus namespace.')
output serviceBusHost string = bus.outputs.hostName

@description('Name of the Service Bus namespace.')
output serviceBusName string = '${base}-bus'

@description('Name of the vault.')
output keyVaultName string = '${base}-kv'

@description('Address of the vault.')
output keyVaultUri string = vault.outputs.vaultUri

@description('Name of the container registry.')
output registryName string = '${name}${environmentName}acr'

@description('Host name of the container registry, the first part of image names.')
output registryLoginServer string = registry.outputs.loginServer

@description('Resource id of the Log Analytics workspace.')
output workspaceId string = monitoring.outputs.workspaceId

@description('Id of the Log Analytics workspace in queries.')
output workspaceCustomerId string = monitoring.outputs.workspaceCustomerId

@description('Name of Application Insights.')
output applicationInsightsName string = '${base}-appi'

@description('Name of the Container Apps environment.')
output containerEnvironmentName string = '${base}-cae'

@description('Name of the virtual network; empty in the public mode.')
output virtualNetworkName string = privateNetwork ? '${base}-vnet' : ''

@description('Outbound address of the app and the workers, for firewalls of data sources; empty without a NAT gateway.')
output outboundAddress string = privateNetwork && natGateway ? nat!.outputs.address : ''

@description('Resource id of the subnet of the Functions app; empty in the public mode.')
output functionsSubnetId string = privateNetwork ? network!.outputs.functionsSubnetId : ''

@description('Resource id of the subnet of the private endpoints; empty in the public mode.')
output privateEndpointSubnetId string = privateNetwork ? network!.outputs.privateEndpointSubnetId : ''
