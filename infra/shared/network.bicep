// The virtual network of a private deployment. Nothing of it is made in the public mode.
//
// The subnets are part of the network's own definition: as resources of their own they
// would be taken away and made again by every deployment of the network. So what is given to
// a subnet by hand, such as a route table or a security group, goes with the next deployment.

@description('Name of the virtual network.')
param virtualNetworkName string

@description('Region of the network.')
param location string

@description('Tags of the network.')
param tags object

@description('Address ranges of the network, in CIDR notation.')
@minLength(1)
param addressSpace array

@description('Range of the Functions app, in CIDR notation; /24 has room for all its instances, /27 is the least.')
param functionsSubnet string

@description('Range of the Container Apps environment, in CIDR notation; /27 is the least. It cannot be changed once the environment is there.')
param workerSubnet string

@description('Range of the private endpoints, in CIDR notation.')
param privateEndpointSubnet string

@description('Resource id of the NAT gateway that the app and the workers leave by; empty: none.')
param natGatewayId string

// Flex Consumption and Container Apps both run on the latter's platform and have their
// subnets delegated to it. One subnet cannot serve both.
var delegations = [
  {
    name: 'container-apps'
    properties: {
      serviceName: 'Microsoft.App/environments'
    }
  }
]

var natGateway = empty(natGatewayId)
  ? null
  : {
      id: natGatewayId
    }

resource network 'Microsoft.Network/virtualNetworks@2025-05-01' = {
  name: virtualNetworkName
  location: location
  tags: tags
  properties: {
    addressSpace: {
      addressPrefixes: addressSpace
    }
    subnets: [
      {
        name: 'snet-functions'
        properties: {
          addressPrefix: functionsSubnet
          delegations: delegations
          natGateway: natGateway
        }
      }
      {
        name: 'snet-cloud-worker'
        properties: {
          addressPrefix: workerSubnet
          delegations: delegations
          natGateway: natGateway
        }
      }
      {
        name: 'snet-private-endpoints'
        properties: {
          addressPrefix: privateEndpointSubnet
          privateEndpointNetworkPolicies: 'Disabled'
        }
      }
    ]
  }
}

@description('Resource id of the network.')
output virtualNetworkId string = network.id

@description('Resource id of the subnet of the Functions app.')
output functionsSubnetId string = resourceId('Microsoft.Network/virtualNetworks/subnets', network.name, 'snet-functions')

@description('Resource id of the subnet of the Container Apps environment.')
output workerSubnetId string = resourceId('Microsoft.Network/virtualNetworks/subnets', network.name, 'snet-cloud-worker')

@description('Resource id of the subnet of the private endpoints.')
output privateEndpointSubnetId string = resourceId('Microsoft.Network/virtualNetworks/subnets', network.name, 'snet-private-endpoints')
