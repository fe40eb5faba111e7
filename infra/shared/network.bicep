// The virtual network of a private deployment.
//
// The subnets are properties of the network, since each deployment of the network would delete and
// create separate subnet resources. A deployment removes a route table or security group that you
// assigned to a subnet by hand.

@description('Name of the virtual network.')
param virtualNetworkName string

@description('Region of the network.')
param location string

@description('Tags of the network.')
param tags object

@description('Address ranges of the network, in CIDR notation.')
@minLength(1)
param addressSpace array

@description('Subnet of the Functions app, in CIDR notation, at least /27; /24 suffices for all instances.')
param functionsSubnet string

@description('Subnet of the Container Apps environment, in CIDR notation, at least /27. It cannot be changed later.')
param workerSubnet string

@description('Subnet of the private endpoints, in CIDR notation.')
param privateEndpointSubnet string

@description('Resource id of the NAT gateway of the app and the workers; empty: none.')
param natGatewayId string

// Flex Consumption and Container Apps both need a delegated subnet, which they cannot share.
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
