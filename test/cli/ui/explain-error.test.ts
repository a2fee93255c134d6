import t from 'tap'
import { explainError } from '../../../cli/ui/explain-error.ts'
import { CliError, EXIT } from '../../../cli/ui/output.ts'
import { GatewayError } from '../../../core/errors.ts'
import { ServiceError } from '../../../sdk/errors.ts'

delete process.env['MX_DEBUG']

t.test('an error is one line with its exit status', (t) => {
  const error = new CliError('no such folder: x', { status: EXIT.usage })
  t.same(explainError(error), { status: 2, problems: ['no such folder: x'] })
  t.same(explainError(new TypeError('oh')), { status: 1, problems: ['oh'] })
  t.end()
})

t.test('the id of a server error is shown, even from a nested cause', (t) => {
  for (const cause of [
    new GatewayError('config.Config.Get', 404, 'Not found'),
    new ServiceError('config.Config.Get', 404, 'Not found'),
  ]) {
    const inner = new CliError('Not found', { status: EXIT.failed, cause })
    for (const error of [inner, new CliError('Not found', { cause: inner })])
      t.same(explainError(error).problems, ['Not found (Id config.Config.Get)'])
  }
  t.end()
})

t.test('no id is shown for an unknown method or an unreachable server', (t) => {
  const cause = new GatewayError('mail', 404, 'service not found: mail')
  for (const status of [EXIT.unreachable, EXIT.unknownMethod])
    t.same(explainError(new CliError('x', { status, cause })).problems, ['x'])
  t.end()
})

t.test('each problem of the settings is one line', (t) => {
  const error = Object.assign(new Error('two'), { name: 'SettingsError', problems: ['a', 'b'] })
  t.same(explainError(error), { status: 2, problems: ['a', 'b'] })
  t.end()
})

t.test('a worker start error adds no lines, because the worker has reported it', (t) => {
  const error = Object.assign(new Error('x'), { name: 'WorkerStartError', status: 3 })
  t.same(explainError(error), { status: 3, problems: [] })
  t.end()
})

t.test('a stack is shown only with MX_DEBUG=1', (t) => {
  process.env['MX_DEBUG'] = '1'
  t.teardown(() => delete process.env['MX_DEBUG'])
  t.match(explainError(new Error('x')).problems, ['x', /\n +at /])
  t.end()
})
