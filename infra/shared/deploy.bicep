// First stage: what all components share. The second stage finds it by its names, which
// follow from name and environmentName alone.
//
// It can be deployed any number of times. What cannot be changed afterwards is said at
// the parameter: for these there is only another environmentName.

targetScope = 'resourceGroup'

@description('Prefix of all names: lower-case letters and digits, first a letter.')
@minLength(2)
@maxLength(11)
param name string = 'matoolkit'

@description('Which of several deployments this is, such as dev, test or prod: lower-case letters and digits.')
@minLength(2)
@maxLength(8)
param environmentName string

@description('Region of everything. It needs Flex Consumption: az functionapp list-flexconsumption-locations.')
param location string = resourceGroup().location

@description('Tags of everything, besides application and environment.')
param tags object = {}

@description('True: a virtual network with private endpoints, Service Bus Premium, and nothing reached from outside but what is allowed below. False: public addresses, roles only. It cannot be changed afterwards.')
param privateNetwork bool

@description('Addresses from which secrets may be put into the vault in the private mode: IPv4, single or as CIDR ranges up to /30. Empty: only from within the network.')
param deployerAddresses array = []

@description('Object ids of users, groups or service principals that put certificates and secrets into the vault.')
param vaultOfficers array = []

@description('Object ids of users, groups or service principals that push images of the worker.')
param imagePushers array = []

@description('Address ranges of the virtual network, in CIDR notation.')
@minLength(1)
param addressSpace array = [
  '10.0.0.0/16'
]

@description('Subnet of the Functions app, in CIDR notation.')
param functionsSubnet string = '10.0.1.0/24'

@description('Subnet of the Container Apps environment, in CIDR notation. It cannot be changed afterwards.')
param workerSubnet string = '10.0.4.0/23'

@description('Subnet of the private endpoints, in CIDR notation.')
param privateEndpointSubnet string = '10.0.10.0/24'

@description('A NAT gateway with a public address of its own, by which the app and the workers leave the network, in the private mode. False: they leave as the platform has it, by addresses that change, or not at all; one that was made before is no longer used, and is deleted by hand.')
param natGateway bool = true

@description('Availability zone of the NAT gateway; empty: Azure chooses one. It cannot be changed afterwards.')
@allowed([
  ''
  '1'
  '2'
  '3'
])
param natGatewayZone string = ''

@description('Messaging units of Service Bus Premium, in the private mode.')
@allowed([
  1
  2
  4
  8
  16
])
param serviceBusCapacity int = 1

@description('Spread the Container Apps environment over availability zones, in the private mode and where the region has some. It cannot be changed afterwards. (Service Bus and Key Vault do so by themselves.)')
param zoneRedundant bool = false

@description('Tier of the container registry.')
@allowed([
  'Basic'
  'Standard'
  'Premium'
])
param registrySku string = 'Basic'

@description('For how many days a deleted secret or vault can be recovered. It cannot be changed afterwards.')
@minValue(7)
@maxValue(90)
param softDeleteDays int = 7

@description('True for one deployment: recover the deleted vault of this name. It is needed where the resource group was deleted less than softDeleteDays ago.')
param recoverVault bool = false

@description('For how many days logs are kept.')
@minValue(30)
@maxValue(730)
param logRetentionDays int = 30

@description('After how many gigabytes a day logs are no longer taken; -1: no limit.')
@minValue(-1)
param logDailyQuotaGb int = -1

var base = '${name}-${environmentName}'
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
    location: location
    tags: allTags
    privateNetwork: privateNetwork
    capacity: serviceBusCapacity
    privateEndpointSubnetId: privateNetwork ? network!.outputs.privateEndpointSubnetId : ''
    privateEndpointName: '${base}-pe-bus'
    workspaceId: monitoring.outputs.workspaceId
  }
  // The endpoint finds its zone by name.
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
    workspaceId: monitoring.outputs.workspaceId
  }
  dependsOn: [
    dns
  ]
}

// All workers are pulled by one identity, which is made before there is any: its role has
// taken effect long before the first image is pulled.
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

@description('Host name of the container registry, by which images are named.')
output registryLoginServer string = registry.outputs.loginServer

@description('Resource id of the Log Analytics workspace.')
output workspaceId string = monitoring.outputs.workspaceId

@description('Id by which queries name the Log Analytics workspace.')
output workspaceCustomerId string = monitoring.outputs.workspaceCustomerId

@description('Name of Application Insights.')
output applicationInsightsName string = '${base}-appi'

@description('Name of the Container Apps environment.')
output containerEnvironmentName string = '${base}-cae'

@description('Name of the virtual network; empty in the public mode.')
output virtualNetworkName string = privateNetwork ? '${base}-vnet' : ''

@description('Address that the app and the workers are seen with from outside, for data sources that let in by address; empty without a NAT gateway.')
output outboundAddress string = privateNetwork && natGateway ? nat!.outputs.address : ''

@description('Resource id of the subnet of the Functions app; empty in the public mode.')
output functionsSubnetId string = privateNetwork ? network!.outputs.functionsSubnetId : ''

@description('Resource id of the subnet of the private endpoints; empty in the public mode.')
output privateEndpointSubnetId string = privateNetwork ? network!.outputs.privateEndpointSubnetId : ''
