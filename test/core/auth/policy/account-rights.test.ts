import t from 'tap'
import {
  canActAs,
  isAdminOf,
  isOperator,
  isWorkload,
  parseWorkloadScope,
  toWorkloadScope,
} from '../../../../core/auth/policy/account-rights.ts'

t.test('a workload scope names a namespace and a service', (t) => {
  t.same(parseWorkloadScope(toWorkloadScope('acme', 'shop.eu')), {
    ...{ namespace: 'acme', service: 'shop.eu' },
  })
  for (const scope of ['workload:', 'workload:acme', 'workload:acme/', 'workload:/shop', 'admin'])
    t.equal(parseWorkloadScope(scope), undefined, scope)
  for (const scope of ['workload:acme/shop/x', 'workload:acme/a b', 'workload:acme/*'])
    t.equal(parseWorkloadScope(scope), undefined, scope)
  t.end()
})

t.test('derives the rights of an account from its scopes and namespace', (t) => {
  const of = (issuer: string, ...scopes: string[]) => ({ issuer, scopes })
  const shop = of('mx', 'workload:mx/shop')
  const rows = [
    // Account, operator, admin of acme, service of acme, `shop` of mx, `pay` of mx, workload.
    [of('mx', 'admin'), true, true, true, true, true, false],
    [of('mx', 'service'), false, false, false, true, true, false],
    [shop, false, false, false, true, false, true],
    [of('mx', 'workload:mx/shop', 'service'), false, false, false, true, true, false],
    [of('acme', 'admin'), false, true, true, false, false, false],
    [of('acme', 'service'), false, false, true, false, false, false],
    [of('acme', 'workload:mx/shop'), false, false, false, false, false, true],
    [of('acme', 'workload:acme/shop'), false, false, true, false, false, true],
    [of('mx', 'reader'), false, false, false, false, false, false],
  ] as const
  for (const [account, ...expected] of rows)
    t.same(
      [
        isOperator(account),
        isAdminOf(account, 'acme'),
        canActAs(account, 'acme'),
        canActAs(account, 'mx', 'shop'),
        canActAs(account, 'mx', 'pay'),
        isWorkload(account),
      ],
      expected,
      `${account.issuer}: ${account.scopes}`,
    )
  t.end()
})
