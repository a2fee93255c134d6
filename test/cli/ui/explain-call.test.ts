import t from 'tap'
import { explainCall, type FailedCall } from '../../../cli/ui/explain-call.ts'
import { GatewayError } from '../../../core/errors.ts'

const CALL: FailedCall = {
  environment: { name: 'local', address: '127.0.0.1:8081' },
  ...{ service: 'mail', endpoint: 'Mail.Send', account: 'jane', token: 'a.b.c' },
}

function explain(code: number, detail: string, call: Partial<FailedCall> = {}, id = 'mail') {
  return explainCall(new GatewayError(id, code, detail), { ...CALL, ...call })
}

t.test('call errors map to messages with advice and exit statuses', (t) => {
  const platform = { name: 'platform', address: 'h:443' }
  const noRoute = 'bad gateway: there is no route to the RPC proxy'
  for (const [error, status, message] of [
    [
      explain(401, 'no', { account: '', token: undefined }),
      2,
      'Not authorized to perform this request: no (not logged in to local: mx login)',
    ],
    [
      explain(401, 'no', { token: undefined }),
      2,
      'Not authorized to perform this request: no (jane is not logged in: mx login)',
    ],
    [
      explain(401, 'no'),
      2,
      'Not authorized to perform this request: no (the account lacks permission)',
    ],
    [
      explain(502, noRoute),
      4,
      "Failed to connect to mx server at 127.0.0.1:8081: start it with 'mx server', or, if it uses another --proxy_address, run 'mx env add local <host:port>'",
    ],
    [
      explain(502, noRoute, { environment: platform }),
      4,
      "Failed to connect to mx server at h:443, the address of platform. See 'mx env'",
    ],
    [
      explain(502, 'bad gateway: the RPC proxy closed the connection'),
      4,
      'Connection to mx server at 127.0.0.1:8081 was lost',
    ],
    [explain(404, 'service not found: mail'), 4, 'Service "mail" not found. See \'mx services\''],
    [
      explain(404, 'endpoint not found: mail.Mail.Send'),
      5,
      'Service method "Mail.Send" not found. See \'mx mail --help\'',
    ],
    [explain(408, 'too late'), 1, "Request timed out. See 'mx logs mail'"],
    [
      explain(408, 'too late', { service: 'config' }),
      1,
      'Request timed out. See the log of the server',
    ],
    [explain(500, 'internal error'), 127, "internal error. See 'mx logs mail'"],
    [
      explain(400, 'Mail.Send responds with a stream: request its path'),
      127,
      "Mail.Send responds with a stream: 'mx stream mail Mail.Send' prints it",
    ],
    [explain(409, 'it is there already'), 127, 'it is there already'],
    [explain(404, 'service not found: x', {}, 'mail.Mail.Send'), 127, 'service not found: x'],
  ] as const)
    t.match(error, { status, message }, message)
  t.end()
})

t.test('a connection error with a known cause names the cause', (t) => {
  const cause = 'no connection to h:443: certificate has expired'
  const explain = (name: string) => {
    const environment = { name, address: 'mxs://h:443' }
    const error = new GatewayError(
      'mail',
      502,
      'bad gateway: the certificate of the RPC proxy is not trusted',
      {
        cause,
      },
    )
    return explainCall(error, { ...CALL, environment })
  }
  const failed = 'Failed to connect to mx server at mxs://h:443'
  t.match(explain('local'), { status: 4, message: `${failed}: certificate has expired` })
  t.match(explain('staging'), {
    message: `${failed}, the address of staging: certificate has expired. See 'mx env'`,
  })
  t.end()
})

t.test(
  'if the token is renewed during the call, the error suggests running the command again',
  (t) => {
    t.match(explain(401, 'no', { isRenewed: true }), {
      status: 2,
      message: /Run the command again/,
    })
    t.end()
  },
)

t.test('a wrong password exits 2, only for Auth.Token', (t) => {
  const call = { service: 'auth', endpoint: 'Auth.Token' }
  t.match(explain(400, 'Secret not correct, or no account', call, 'auth.Auth.Token'), { status: 2 })
  t.match(explain(400, 'Secret not correct', {}, 'mail.Mail.Send'), { status: 127 })
  t.end()
})

t.test('an error not from a server is unchanged', (t) => {
  const error = new Error('a file is gone')
  t.equal(explainCall(error, CALL), error)
  t.end()
})
