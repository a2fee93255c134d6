import t from 'tap'
import { isServiceName } from '../../../core/registry/service-name.ts'

t.test(
  'a service name has letters and digits, with dots, dashes and underscores between them',
  async (t) => {
    const names = [
      'a',
      'greeter',
      'Greeter2',
      'go.mx.api.greeter',
      'user-service',
      'user_service',
      'a--b',
      'v1',
      '9',
    ]
    for (const name of [...names, 'constructor', 'a'.repeat(253)]) t.ok(isServiceName(name), name)
  },
)

t.test('other service names are rejected', async (t) => {
  const names = [
    '',
    '.',
    '..',
    'a..b',
    '.a',
    'a.',
    '-a',
    'a-',
    'a.-b',
    '__proto__',
    '%2e%2e',
    'a%20b',
  ]
  for (const name of [...names, 'a b', 'a/b', 'a\n', 'ü', '*', 'a:b', 'a;b', 'a'.repeat(254)]) {
    t.notOk(isServiceName(name), JSON.stringify(name))
  }
})

t.test('adversarial names are checked in linear time', async (t) => {
  const startMs = performance.now()
  for (let i = 0; i < 1000; i++) isServiceName(`${'a-_'.repeat(84)}!`)
  t.ok(performance.now() - startMs < 1000)
})
