import { createNodeListener } from '../../../../../core/listener/node/listener.ts'
import { testTunnel } from '../../../../contracts/tunnel.ts'

testTunnel({
  create: createNodeListener,
  name: 'node',
  backendClosed: '1011 the backend disconnected',
  clientClosed3000: ['3000'],
  demandsMasks: true,
  pausesClients: true,
})
