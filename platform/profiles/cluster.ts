import type { Profile } from './profile.ts'

export const cluster: Profile = {
  description: 'many machines: Consul, NATS with JetStream, PostgreSQL',
  settings: {
    address: ':8080',
    proxyAddress: ':8081',
    webAddress: ':8082',
    adminAddress: '127.0.0.1:8089',
    drainDelayMs: '0s',
    hosts: 'any',
    rpcAddressAllow: '',
    registry: 'consul://127.0.0.1:8500',
    store: 'postgres://127.0.0.1:5432/mx',
    broker: 'nats://127.0.0.1:4222',
    events: 'nats://127.0.0.1:4222',
    runtime: 'process',
  },
}
