import t from 'tap'
import { parseConfig } from '../../../../../platform/config/parse-file.ts'
import { findPrefixChange } from '../../../../../platform/gateway/routes/rewrite/prefix-change.ts'

function find(paths: string, settings: string) {
  const [route] = parseConfig(
    `routes: [{ match: { path: ${paths} }, service: a, ${settings} }]`,
    'mx.yaml',
  ).routes
  return findPrefixChange(route!)
}

t.test(
  'a literal prefix before the rest of a literal path is a change of the prefix',
  async (t) => {
    const rows: [string, string, { readonly stripped: string; readonly added: string }][] = [
      ['/api/**', 'rewrite: { path: "/v2/{rest}" }', { stripped: '/api', added: '/v2' }],
      ['/api/**', 'rewrite: { path: "/{rest}" }', { stripped: '/api', added: '' }],
      ['/a%20b/c/**', 'rewrite: { path: "/{rest}" }', { stripped: '/a%20b/c', added: '' }],
      ['"/api/{tail=**}"', 'rewrite: { path: "/v2/{tail}" }', { stripped: '/api', added: '/v2' }],
      ['/**', 'rewrite: { path: "/v2/{rest}" }', { stripped: '', added: '/v2' }],
      ['[/a, /b]', 'rewrite: { path: "/v2{path}" }', { stripped: '', added: '/v2' }],
      [
        '/api/**',
        'strip_prefix: /api, rewrite: { path: "/v2/{rest}" }',
        { stripped: '/api', added: '/v2' },
      ],
      ['/api/**', 'strip_prefix: /api, add_prefix: /v2', { stripped: '/api', added: '/v2' }],
    ]
    for (const [paths, settings, expected] of rows)
      t.strictSame(
        find(paths, settings),
        { ...expected, isOptional: false },
        `${paths} ${settings}`,
      )
  },
)

t.test('other templates of a path cannot be reversed', async (t) => {
  const rows: [string, string][] = [
    ['/api/**', '/v2'],
    ['/api/**', '/v2/{rest}/x'],
    ['/api/**', '/v2/{header.x-tenant}/{rest}'],
    ['/api/**', '/v2-{rest}'],
    ['"/users/{id}/**"', '/v2/{rest}'],
    ['"/users/{id}/**"', '/v2/{id}'],
    ['/api/**/x', '/v2/{rest}'],
    ['/api/**', '/api/{rest}'],
    ['/api', '/{header.rest}'],
  ]
  for (const [paths, template] of rows)
    t.equal(find(paths, `rewrite: { path: "${template}" }`), undefined, `${paths} ${template}`)
})

t.test('a prefix is optional if a path of the route may not begin with it', async (t) => {
  const rows: [string, boolean][] = [
    ['/api/**', false],
    ['[/api/**, /api/v1/x]', false],
    ['[/api/**, /legacy/**]', true],
    ['/**', true],
    ['"/{name}/**"', true],
    ['/api:go', true],
    ['/api/x:go', false],
  ]
  for (const [paths, isOptional] of rows)
    t.equal(find(paths, 'strip_prefix: /api')?.isOptional, isOptional, paths)
})
