import type { Profile } from './profile.ts'

export const local: Profile = {
  description: 'one machine: nothing to install, state in files, reachable from this machine only',
  settings: {
    address: '127.0.0.1:8080',
    proxyAddress: '127.0.0.1:8081',
    webAddress: '127.0.0.1:8082',
    adminAddress: '127.0.0.1:8089',
    drainDelayMs: '0s',
    hosts: 'local',
    rpcAddressAllow: 'loopback',
    registry: 'memory',
    store: 'lmdb',
    broker: 'memory',
    events: 'lmdb',
    runtime: 'process',
    configSecretKey: 'file',
    tlsCertFiles: 'self-signed',
  },
}
