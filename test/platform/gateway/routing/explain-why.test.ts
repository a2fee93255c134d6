import t from 'tap'
import { GatewayError } from '../../../../core/errors.ts'
import { toWhy } from '../../../../platform/gateway/routing/explain-why.ts'
import type { Explanation } from '../../../../platform/gateway/routing/explanation.ts'

const NO_DETAILS: Omit<Explanation, 'why'> = {
  ...{
    stages: [],
    route: undefined,
    routeName: undefined,
    target: '/',
    host: 'localhost',
    handler: undefined,
    namespace: '',
    account: '',
    rulings: [],
  },
  ...{ nodes: undefined, endpoints: [], sentTo: undefined, answer: undefined, known: [] },
}

const response = (code: number, detail: string, id = 'a') => ({
  ...{ status: code, body: '', error: new GatewayError(id, code, detail) },
})
const DENIED = { namespace: 'mx', resource: 'service:a:A.B', granted: false }
const RULE = { id: 'closed' } as NonNullable<Explanation['rulings'][number]['rule']>

t.test('explains responses of the gateway with a hint', (t) => {
  const cases: readonly (readonly [Partial<Explanation>, RegExp])[] = [
    [
      {
        stages: [{ plugin: 'cors', hook: 'onRequest' }],
        answer: { ...response(204, ''), error: undefined },
      },
      /^plugin cors \(onRequest\) sent the response$/,
    ],
    [
      { answer: response(404, 'service not found: greter', 'greter'), known: ['greeter', 'store'] },
      /^did you mean greeter\? known services: greeter, store$/,
    ],
    [
      { answer: response(404, 'service not found: x', 'x'), known: ['greeter'] },
      /^known services: greeter$/,
    ],
    [{ answer: response(404, 'service not found: x') }, /^no service is registered: /],
    [
      { answer: response(404, 'endpoint not found: a.B'), endpoints: ['A.C'] },
      /^the service declares A\.C$/,
    ],
    [
      { answer: response(404, 'the route to a has no endpoint to call') },
      /^set handler: proxy, or endpoint, in the route$/,
    ],
    [
      { answer: response(401, 'no'), rulings: [{ ...DENIED, rule: RULE }] },
      /^rule closed denies it to anonymous callers: authenticate with "Authorization: /,
    ],
    [
      { answer: response(401, 'no'), rulings: [{ ...DENIED, rule: undefined }], account: 'ann' },
      /^no rule grants it to ann$/,
    ],
    [
      { answer: response(503, 'cannot look up a: the registry is unavailable') },
      /^check that the registry is running at /,
    ],
    [
      { answer: response(503, 'cannot look up a: the registry denies access') },
      /^the account of the gateway .* or lacks access to the registry$/,
    ],
    [
      { stages: [], answer: response(400, 'bad') },
      /^the listener rejected the request before any plugin ran$/,
    ],
    [
      { answer: response(503, 'no node of a is available') },
      /^the service is registered, but none/,
    ],
    [
      { stages: [{ plugin: undefined, hook: 'route' }], answer: response(400, 'bad') },
      /^the route step rejected the request$/,
    ],
  ]
  for (const [explanation, expected] of cases)
    t.match(toWhy({ ...NO_DETAILS, ...explanation }), expected)
  t.end()
})
