import type { Profile } from './profile.ts'

export const kubernetes: Profile = {
  description: 'a Kubernetes namespace: Kubernetes Services, NATS with JetStream, PostgreSQL',
  settings: {
    address: ':8080',
    proxyAddress: ':8081',
    webAddress: ':8082',
    adminAddress: ':8089',
    drainDelayMs: '5s',
    hosts: 'any',
    rpcAddressAllow: '',
    registry: 'kubernetes',
    store: 'postgres://postgres:5432/mx',
    broker: 'nats://nats:4222',
    events: 'nats://nats:4222',
    runtime: 'kubernetes',
  },
}
