import t from 'tap'
import { runGuides } from '../fixtures/guides.ts'

await runGuides(t, [
  'docs/api-keys.md',
  'docs/api.md',
  'docs/broker.md',
  'docs/gateway.md',
  'docs/listeners.md',
  'docs/network.md',
  'docs/plugins.md',
  'docs/registry.md',
  'docs/registry-service.md',
  'docs/request-quotas.md',
  'docs/server.md',
  // It denies anonymous requests.
  'docs/auth.md',
])
