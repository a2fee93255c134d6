import t from 'tap'
import { diffServices } from '../../../core/registry/diff.ts'
import { makeNode, makeService } from '../../fixtures/services.ts'

const ONE = makeService('greeter', ['127.0.0.1:9001', '127.0.0.1:9002'])
const NEXT = makeService('greeter', ['127.0.0.1:9003'], 'next')
const USERS = makeService('users', ['127.0.0.1:9004'])

t.test('equal lists in any order have no changes', async (t) => {
  t.same(diffServices([ONE, NEXT, USERS], structuredClone([USERS, ONE, NEXT])), [])
})

t.test('created, updated and deleted versions are distinguished', async (t) => {
  const withoutSecondNode = makeService('greeter', ['127.0.0.1:9001'])
  t.same(diffServices([ONE, USERS], [withoutSecondNode, NEXT]), [
    { type: 'update', service: withoutSecondNode },
    { type: 'create', service: NEXT },
    { type: 'delete', service: { ...USERS, nodes: [] } },
  ])
})

t.test('any difference in a version is an update', async (t) => {
  const endpoint = (name: string): (typeof USERS)['endpoints'] => [
    {
      name,
      request: { name: 'A', type: 'A', values: [] },
      response: { name: 'B', type: 'B', values: [] },
      metadata: {},
    },
  ]
  const others = [
    { ...USERS, metadata: { owner: 'a' } },
    { ...USERS, endpoints: endpoint('Users.Get') },
    makeService('users', [makeNode('127.0.0.1:9004', { weight: '2' })]),
    makeService('users', [{ ...makeNode('127.0.0.1:9004'), id: 'other' }]),
    makeService('users', []),
  ]
  for (const other of others) {
    t.same(diffServices([USERS], [other]), [{ type: 'update', service: other }])
  }
})

t.test('identical objects are not compared', async (t) => {
  const unread = {
    name: 'a',
    version: 'latest',
    get nodes(): never {
      throw new Error('compared')
    },
  } as unknown as typeof USERS
  t.same(diffServices([unread], [unread]), [])
})
