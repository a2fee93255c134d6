import t from 'tap'
import { createSentDigests } from '../../../../adapters/registry/mx/sent-digests.ts'
import type { Service } from '../../../../core/contracts/registry.ts'
import { makeNode, makeService } from '../../../fixtures/services.ts'

const GREETER = makeService('greeter', ['127.0.0.1:9001', '127.0.0.1:9002'])
const USERS = makeService('users', ['127.0.0.1:9003'])

t.test('returns an event for a new state once', async (t) => {
  const { learn } = createSentDigests()
  t.same(learn(GREETER), { type: 'create', service: GREETER })
  t.equal(learn(structuredClone(GREETER)), undefined)
  const smaller = makeService('greeter', ['127.0.0.1:9001'])
  t.same(learn(smaller), { type: 'update', service: smaller })
  const next = makeService('greeter', ['127.0.0.1:9001'], 'next')
  t.same(learn(next), { type: 'create', service: next }, 'a separate version')
})

t.test('ignores the order of parts', async (t) => {
  const emptyValue = { name: '', type: '', values: [] }
  const endpoints = ['A.B', 'A.C'].map((name) => ({
    name,
    request: emptyValue,
    response: emptyValue,
    metadata: { path: '/a', handler: 'rpc' },
  }))
  const service: Service = { ...GREETER, metadata: { a: '1', b: '2' }, endpoints }
  const { learn } = createSentDigests()
  learn(service)
  const reversed: Service = {
    ...service,
    metadata: { b: '2', a: '1' },
    endpoints: [...endpoints].reverse(),
    nodes: [...service.nodes].reverse(),
  }
  t.equal(learn(reversed), undefined)
})

t.test('detects a change of every part', async (t) => {
  const [first] = GREETER.nodes
  const value = (type: string) => ({ name: 'x', type, values: [] })
  const endpoint = { name: 'A.B', request: value('a'), response: value('a'), metadata: {} }
  const states: Service[] = [
    GREETER,
    { ...GREETER, metadata: { a: '1' } },
    { ...GREETER, endpoints: [endpoint] },
    { ...GREETER, endpoints: [{ ...endpoint, request: value('b') }] },
    { ...GREETER, endpoints: [{ ...endpoint, response: value('b') }] },
    { ...GREETER, endpoints: [{ ...endpoint, metadata: { stream: 'true' } }] },
    { ...GREETER, nodes: [first!] },
    { ...GREETER, nodes: [{ ...first!, id: 'b' }] },
    { ...GREETER, nodes: [{ ...first!, address: '127.0.0.1:9009' }] },
    { ...GREETER, nodes: [makeNode(first!.address, { state: 'draining' })] },
  ]
  const { learn } = createSentDigests()
  for (const [i, state] of states.entries()) t.ok(learn(state), `state ${i}`)
})

t.test('returns a delete event without nodes once', async (t) => {
  const { learn, forget } = createSentDigests()
  t.equal(forget(GREETER), undefined, 'an unsent state')
  learn(GREETER)
  t.same(forget(GREETER), { type: 'delete', service: { ...GREETER, nodes: [] } })
  t.equal(forget(GREETER), undefined)
})

t.test('deletes versions missing in a full list', async (t) => {
  const { begin, learn, finish } = createSentDigests()
  begin()
  learn(GREETER)
  learn(USERS)
  t.same(finish(), [])
  begin()
  learn(USERS)
  t.same(finish(), [{ type: 'delete', service: makeService('greeter', []) }])
  begin()
  learn(USERS)
  t.same(finish(), [])
})
