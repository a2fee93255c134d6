import t from 'tap'
import type { Authorizer } from '../../../../core/contracts/auth.ts'
import { createAccountChecks } from '../../../../sdk/auth/account-checks.ts'
import type { Context } from '../../../../sdk/context.ts'
import { mustBeReader } from '../../../../services/config/tree/readers.ts'

const CHECKS = createAccountChecks({} as Authorizer)

function read(path: string, ...scopes: string[]): number {
  const account = { id: 'a', name: 'a', type: 'service', issuer: 'mx', scopes, metadata: {} }
  try {
    const ctx = { account } as unknown as Context
    mustBeReader(CHECKS, ctx, { namespace: 'mx', path, id: 'config.Config.Get' })
    return 200
  } catch (error) {
    return (error as { code: number }).code
  }
}

t.test('lets a workload read the subtree of its name', (t) => {
  for (const path of ['shop', 'shop.key', 'shop.a.b'])
    t.equal(read(path, 'workload:mx/shop'), 200, path)
  for (const path of ['', 'pay', 'shopping', 'shopping.key', 'eu.shop', 'Shop'])
    t.equal(read(path, 'workload:mx/shop'), 401, path)
  for (const path of ['shop.eu', 'shop.eu.key']) t.equal(read(path, 'workload:mx/shop.eu'), 200)
  for (const path of ['shop', 'shop.key', 'shop.eux'])
    t.equal(read(path, 'workload:mx/shop.eu'), 401, path)
  t.end()
})

t.test('lets services and administrators read every path', (t) => {
  for (const path of ['', 'shop', 'pay.key']) {
    for (const scope of ['service', 'admin']) t.equal(read(path, scope), 200)
    t.equal(read(path, 'reader'), 401)
  }
  t.end()
})
