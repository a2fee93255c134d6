import t from 'tap'
import type { LocalService } from '../../../sdk/client/call-options.ts'
import { internalsOf } from '../../../sdk/internal/internals.ts'
import {
  addLocalNode,
  addLocalService,
  findLocalCaller,
  findLocalService,
  toLocalService,
} from '../../../sdk/internal/local-services.ts'
import { openRegistry } from '../../fixtures/sdk-services.ts'

const create = (name: string): LocalService => ({
  name,
  caller: { pending: 0, call() {}, drain() {}, close() {} },
})

t.test('a running service is found by name in its registry', async (t) => {
  const registry = openRegistry(t)
  const other = openRegistry(t)
  t.equal(findLocalService(registry, 'a'), undefined)
  const first = create('a')
  const second = create('a')
  const remove = addLocalService(registry, first)
  addLocalService(registry, second)
  t.equal(findLocalService(registry, 'a'), first)
  t.equal(findLocalService(registry, 'b'), undefined)
  t.equal(findLocalService(other, 'a'), undefined)
  remove()
  t.equal(findLocalService(registry, 'a'), second)
})

t.test('an object that is not a service of this process is rejected', async (t) => {
  const local = create('a')
  const service = {}
  internalsOf(service).local = local
  t.equal(toLocalService(service), local)
  t.throws(() => toLocalService({}), /must be services of this process/)
})

t.test('a running node is found by its id', async (t) => {
  const { caller } = create('a')
  t.equal(findLocalCaller({ id: 'a-1' }), undefined)
  const remove = addLocalNode('a-1', caller)
  t.equal(findLocalCaller({ id: 'a-1' }), caller)
  t.equal(findLocalCaller({ id: 'a-2' }), undefined)
  remove()
  t.equal(findLocalCaller({ id: 'a-1' }), undefined)
})
