import { createUwsListener } from '../../../core/listener/uws.ts'
import { testTunnel } from '../../contracts/tunnel.ts'

testTunnel({ create: createUwsListener, name: 'uws', backendDied: '1011 the backend is gone' })
