import type { Profile } from './profile.ts'

export const test: Profile = {
  description: 'everything in memory, lost at exit',
  settings: {
    address: ':8080',
    proxyAddress: ':8081',
    webAddress: ':8082',
    adminAddress: '127.0.0.1:8089',
    drainDelayMs: '0s',
    hosts: 'any',
    rpcAddressAllow: '',
    registry: 'memory',
    store: 'memory',
    broker: 'memory',
    events: 'memory',
    runtime: 'process',
    configSecretKey: 'memory',
  },
}
