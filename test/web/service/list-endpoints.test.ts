import t from 'tap'
import { listEndpoints } from '../../../web/service/list-endpoints.ts'
import { makeService } from '../../fixtures/services.ts'

const value = { name: '', type: 'any', values: [] }
const endpoint = (name: string, description: string) => ({
  ...{ name, request: value, response: value, metadata: { description } },
})

t.test('lists unique endpoints of all versions without subscriptions', async (t) => {
  const versions = [
    { ...makeService('a', []), endpoints: [endpoint('B.C', 'v1'), endpoint('A.B', 'v1')] },
    { ...makeService('a', []), endpoints: [endpoint('B.C', 'v2'), endpoint('some topic', '')] },
  ]
  t.same(
    listEndpoints(versions).map(({ name, metadata }) => `${name} ${metadata['description']}`),
    ['A.B v1', 'B.C v2'],
  )
})
