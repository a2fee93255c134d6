import type { Endpoint } from '../../core/contracts/registry.ts'
import type { JsonSchema } from '../../sdk/schema/json-schema.ts'

const ANY = { name: '', type: 'any', values: [] }

/** Unregistered endpoints of every service that implements the call protocol (reference 12). */
export const DEBUG_ENDPOINTS: readonly Endpoint[] = [
  describe('Debug.Health', 'Health of the service.', {}),
  describe('Debug.Log', 'Recent log lines, at most 256.', {
    count: { type: 'integer', minimum: 0, default: 0, description: 'Number of lines; 0 for all.' },
    since: {
      type: 'integer',
      minimum: 0,
      default: 0,
      description: 'Maximum age in seconds; 0 for any.',
    },
  }),
  describe('Debug.Stats', 'Call counts and resource usage of the service.', {}),
  describe('Debug.Trace', 'Recent calls, at most 256.', {
    id: { type: 'string', default: '', description: 'Trace id; empty for all.' },
  }),
]

function describe(
  name: string,
  description: string,
  properties: Readonly<Record<string, JsonSchema>>,
): Endpoint {
  const requestSchema = JSON.stringify({ type: 'object', properties })
  return { name, request: ANY, response: ANY, metadata: { description, requestSchema } }
}
