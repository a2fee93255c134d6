// Specification, "Errors" and "Error response body (gateway)"; reference 15.2, 15.4, 15.5.
import t, { type Test } from 'tap'
import {
  badRequest,
  conflict,
  forbidden,
  internal,
  notFound,
  ServiceError,
  timeout,
  unauthorized,
} from '../../sdk/errors.ts'
import { type Endpoints, endpoint } from '../../sdk/service/endpoint.ts'
import { openApi } from '../fixtures/api.ts'
import { openMxService } from '../fixtures/mx-service.ts'

const STATUSES: [number, string][] = [
  [400, 'Bad Request'],
  [401, 'Unauthorized'],
  [403, 'Forbidden'],
  [404, 'Not Found'],
  [405, 'Method Not Allowed'],
  [408, 'Request Timeout'],
  [409, 'Conflict'],
  [412, 'Precondition Failed'],
  [429, 'Too Many Requests'],
  [500, 'Internal Server Error'],
  [501, 'Not Implemented'],
  [502, 'Bad Gateway'],
  [503, 'Service Unavailable'],
  [504, 'Gateway Timeout'],
]

function fails(error: () => unknown) {
  return endpoint({
    idempotent: false,
    handle() {
      throw error()
    },
  })
}

const handlers: Record<string, Endpoints> = {
  Shop: {
    fine: endpoint({ handle: () => ({}) }),
    typed: endpoint({
      idempotent: false,
      handle(request) {
        throw new ServiceError('shop.own', (request as { code: number }).code, 'as requested')
      },
    }),
    badRequest: fails(() => badRequest('shop.order', 'no such size')),
    unauthorized: fails(() => unauthorized('shop', 'who are you')),
    forbidden: fails(() => forbidden('shop', 'not you')),
    notFound: fails(() => notFound('shop', 'sold out')),
    timeout: fails(() => timeout('shop', 'too slow')),
    conflict: fails(() => conflict('shop', 'the item was sold')),
    internal: fails(() => internal('shop', 'broken')),
    plain: fails(() => new Error('secret')),
    type: fails(() => new TypeError('secret')),
    text: fails(() => 'secret'),
    nothing: fails(() => undefined),
    number: fails(() => 404),
    lookalike: fails(() => ({ id: 'shop', code: 404, message: 'secret' })),
    success: fails(() => new ServiceError('shop', 200, 'secret')),
    later: endpoint({
      idempotent: false,
      async handle() {
        await new Promise(setImmediate)
        throw new Error('secret')
      },
    }),
  },
}

async function open(t: Test, MX_LISTENER = 'uws', protocol: 'mx' | 'http' = 'mx') {
  const service = await openMxService(t, handlers, { name: 'shop', protocol })
  const env = { MX_ACCESS_LOG: 'off', MX_NAMESPACE: ' ', MX_BACKEND: service.backend, MX_LISTENER }
  return { url: `http://127.0.0.1:${(await openApi(t, env)).port}`, service }
}

function post(url: string): Promise<Response> {
  return fetch(url, { method: 'POST' })
}

for (const listener of ['uws', 'node']) {
  for (const protocol of ['mx', 'http'] as const) {
    t.test(
      `${listener}, ${protocol}: 1. Error responses carry the body {Id, Code, Detail, Status}.`,
      async (t) => {
        const { url } = await open(t, listener, protocol)
        for (const path of [
          '/shop/badRequest',
          '/shop/plain',
          '/shop/none',
          '/unknown/call',
          '/shop/fine?a=%ff',
          '/%20/x',
        ]) {
          const reply = await post(url + path)
          t.equal(reply.headers.get('content-type'), 'application/json', path)
          const body = (await reply.json()) as Record<string, unknown>
          t.strictSame(Object.keys(body), ['Id', 'Code', 'Detail', 'Status'])
          t.strictSame(
            Object.values(body).map((value) => typeof value),
            ['string', 'number', 'string', 'string'],
          )
          t.equal(body['Code'], reply.status)
        }
      },
    )

    t.test(
      `${listener}, ${protocol}: 2. Services return typed errors (bad request, internal server error, timeout and other common HTTP statuses), built from an error id and a detail text.`,
      async (t) => {
        const { url } = await open(t, listener, protocol)
        const rows = [
          ['badRequest', 'shop.order', 400, 'no such size', 'Bad Request'],
          ['unauthorized', 'shop', 401, 'who are you', 'Unauthorized'],
          ['forbidden', 'shop', 403, 'not you', 'Forbidden'],
          ['notFound', 'shop', 404, 'sold out', 'Not Found'],
          ['timeout', 'shop', 408, 'too slow', 'Request Timeout'],
          ['conflict', 'shop', 409, 'the item was sold', 'Conflict'],
          ['internal', 'shop', 500, 'broken', 'Internal Server Error'],
        ] as const
        for (const [path, Id, Code, Detail, Status] of rows)
          t.strictSame(await (await post(`${url}/shop/${path}`)).json(), {
            Id,
            Code,
            Detail,
            Status,
          })
      },
    )

    t.test(
      `${listener}, ${protocol}: 3. The gateway maps a typed error to its HTTP status code (a bad request error yields 400). No error yields 200.`,
      async (t) => {
        const { url } = await open(t, listener, protocol)
        for (const [code, Status] of STATUSES) {
          const reply = await post(`${url}/shop/typed?code=${code}`)
          t.equal(reply.status, code)
          t.strictSame(await reply.json(), {
            Id: 'shop.own',
            Code: code,
            Detail: 'as requested',
            Status,
          })
        }
        t.equal((await post(`${url}/shop/fine`)).status, 200)
        const success = await post(`${url}/shop/success`)
        t.equal(success.status, 500, 'an error with an invalid code is not a success')
      },
    )

    t.test(
      `${listener}, ${protocol}: 4. An error of any other type is treated as an internal server error (500).`,
      async (t) => {
        const { url } = await open(t, listener, protocol)
        for (const path of ['plain', 'type', 'text', 'nothing', 'number', 'lookalike', 'later']) {
          const reply = await post(`${url}/shop/${path}`)
          t.equal(reply.status, 500, path)
          t.strictSame(await reply.json(), {
            Id: 'shop',
            Code: 500,
            Detail: 'internal error',
            Status: 'Internal Server Error',
          })
        }
      },
    )
  }
}

t.test(
  '5. Clients retry a call only when the status is 500 or 408; other statuses are client errors and are not retried.',
  async (t) => {
    for (const [code] of STATUSES) {
      let failures = 1
      const service = await openMxService(
        t,
        { Shop: { fine: endpoint({ handle: () => ({}) }) } },
        {
          name: 'shop',
          intercept: (call) => {
            if (failures-- <= 0) return false
            call.fail(new ServiceError('shop', code, 'once'))
            return true
          },
        },
      )
      const env = { MX_ACCESS_LOG: 'off', MX_NAMESPACE: ' ', MX_BACKEND: service.backend }
      const { port } = await openApi(t, env)
      const repeated = code === 500 || code === 408
      const { status } = await fetch(`http://127.0.0.1:${port}/shop/fine`)
      t.strictSame([status, service.calls.length], repeated ? [200, 2] : [code, 1], String(code))
    }
  },
)

t.test('6. An unauthorized call yields 401 with Status Unauthorized.', async (t) => {
  const { url } = await open(t)
  const reply = await post(`${url}/shop/unauthorized`)
  t.equal(reply.status, 401)
  t.match(await reply.json(), { Code: 401, Status: 'Unauthorized' })
})

t.test(
  '7. A missing header that a backend requires is reported by the backend as an error it chooses.',
  async (t) => {
    const service = await openMxService(
      t,
      {
        Shop: {
          buy: endpoint({
            handle(_request, ctx) {
              if (!ctx.fields.includes('x-currency'))
                throw new ServiceError('shop.currency', 422, 'X-Currency is missing')
              return {}
            },
          }),
        },
      },
      { name: 'shop' },
    )
    const env = { MX_ACCESS_LOG: 'off', MX_NAMESPACE: ' ', MX_BACKEND: service.backend }
    const { port } = await openApi(t, env)
    const url = `http://127.0.0.1:${port}/shop/buy`
    const missing = await fetch(url)
    t.equal(missing.status, 422)
    t.match(await missing.json(), { Id: 'shop.currency', Detail: 'X-Currency is missing' })
    t.equal((await fetch(url, { headers: { 'x-currency': 'EUR' } })).status, 200)
  },
)

t.test(
  '9. Response when a path resolves to no service: 404 with the error body (reference 15.2).',
  async (t) => {
    const { url } = await open(t)
    const rows: [string, object][] = [
      [
        '/unknown/call',
        { Id: 'unknown', Code: 404, Detail: 'service not found: unknown', Status: 'Not Found' },
      ],
      ['/__proto__/x', { Id: 'go.mx.api', Code: 404, Status: 'Not Found' }],
      ['/%20/x', { Id: 'go.mx.api', Code: 404, Status: 'Not Found' }],
    ]
    for (const [path, error] of rows) {
      for (const method of ['GET', 'POST']) {
        const reply = await fetch(url + path, { method })
        t.equal(reply.status, 404, path)
        t.match(await reply.json(), error)
      }
    }
  },
)
