import t from 'tap'
import { parseTemplate } from '../../../../../core/path/template.ts'
import { toRoute } from '../../../../../core/route.ts'
import { compileHost } from '../../../../../platform/gateway/routes/rewrite/host-template.ts'
import { createTestExchange } from '../../../../../sdk/testing.ts'

const TEMPLATE = parseTemplate('/t/{id}/**')

function render(text: string, host: string, value = 'acme', hasScheme = false): string {
  const x = createTestExchange({ path: '/t/acme/x', host, headers: { 'x-tenant': value } })
  x.route = toRoute('', '', undefined, [['id', value]], TEMPLATE)
  return compileHost(text, TEMPLATE, hasScheme)(x)
}

t.test('expands the placeholders of a host', async (t) => {
  const rows: [string, string, boolean, string][] = [
    ['{host}', 'shop.test:8080', false, 'shop.test:8080'],
    ['{host}', 'shop.test:8080', true, 'shop.test'],
    ['{host}:8443', 'shop.test:8080', false, 'shop.test:8443'],
    ['{host}:8443', 'shop.test', true, 'shop.test:8443'],
    ['www.{host}', 'shop.test:8080', false, 'www.shop.test:8080'],
    ['{host}', '[::1]:8080', false, '[::1]:8080'],
    ['{host}', '[::1]:8080', true, '[::1]'],
    ['{header.x-tenant}.shop.test:81', 'a', false, 'acme.shop.test:81'],
    ['{id}-eu.{host}', 'shop.test', false, 'acme-eu.shop.test'],
    ['shop.test', 'a', false, 'shop.test'],
  ]
  for (const [text, host, hasScheme, expected] of rows)
    t.equal(render(text, host, 'acme', hasScheme), expected, `${text} ${host}`)
})

t.test('rejects a value that is not a label with 400', async (t) => {
  for (const value of [
    'evil.test/',
    'evil.test',
    'a@b',
    'a:80',
    '',
    'a#',
    '-a',
    'ä',
    'x'.repeat(64),
  ])
    for (const text of ['{header.x-tenant}.shop.test', '{id}.shop.test'])
      t.throws(() => render(text, 'shop.test', value), { code: 400 }, `${text} ${value}`)
  t.throws(() => render('www.{host}', '[::1]'), { code: 400 })
})

t.test('rejects a template that cannot expand to a host', async (t) => {
  const rows: [string, RegExp][] = [
    ['https://shop.test', /must be a name or an IP address with an optional port/],
    ['shop.test/a', /must be a name or an IP address/],
    ['user@shop.test', /must be a name or an IP address/],
    ['{header.x}', /must end with a domain, such as \{header\.x-tenant\}\.example\.com, got/],
    ['shop.{header.x}:80', /must end with a domain/],
    ['{path}.shop.test', /must not use \{path\}/],
    ['{rest}.shop.test', /must not use \{rest\}/],
    ['{client_ip}.shop.test', /must not use \{client_ip\}/],
    ['{none}.shop.test', /unknown placeholder \{none\}/],
  ]
  for (const [text, problem] of rows) t.throws(() => compileHost(text, TEMPLATE, false), problem)
})
