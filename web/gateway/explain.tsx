import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { Explained } from '../../services/gateway/messages.ts'
import { Problem } from '../components/problem.tsx'
import { SelectField } from '../components/select-field.tsx'
import { TextField } from '../components/text-field.tsx'
import { CallError } from '../rpc/call-error.ts'
import { call } from '../rpc/caller.ts'
import { useDraft } from '../state/draft-storage.ts'
import { EXPLAIN_DRAFT, NO_REQUEST } from './explain-draft.ts'
import { Explanation } from './explanation.tsx'
import { readHeaders } from './read-headers.ts'

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS']
const SCHEMES = { '': 'As the listener', http: 'http', https: 'https' }

interface Result {
  readonly method: string
  readonly path: string
  readonly requestedHost: string
  readonly explained: Explained
}

/** Form that traces a request through the gateway without sending it. */
export function Explain(): JSX.Element {
  const [draft, setDraft] = useDraft(EXPLAIN_DRAFT, NO_REQUEST)
  const { method, path, headers, body, client, listener, scheme, asCaller } = draft
  const [result, setResult] = useState<Result>()
  const [failure, setFailure] = useState<CallError>()
  const [errors, setErrors] = useState<{ readonly path?: string; readonly headers?: string }>({})
  const [busy, setBusy] = useState(false)
  const change = (part: Partial<typeof draft>): void => setDraft({ ...draft, ...part })

  async function submit(event: SubmitEvent): Promise<void> {
    event.preventDefault()
    setFailure(undefined)
    const parsed = parse(path, headers)
    setErrors(parsed.errors)
    if (parsed.headers === undefined) return
    setBusy(true)
    try {
      const request = {
        ...{ method, path, body, headers: parsed.headers, listener, client: client.trim() },
        ...(scheme !== '' && { secure: scheme === 'https' }),
        as_caller: asCaller,
      }
      const response = await call<Explained>('api', 'Api.Explain', request)
      const requestedHost = parsed.headers['host'] ?? 'localhost'
      setResult({ method, path, requestedHost, explained: response.body })
    } catch (error) {
      setFailure(CallError.from(error))
    }
    setBusy(false)
  }

  return (
    <div class="gateway-tab">
      <form class="form card" onSubmit={submit} noValidate>
        <div class="explain-line">
          <SelectField
            label="Method"
            value={method}
            choices={METHODS}
            onInput={(method) => change({ method })}
          />
          <TextField
            label="Path"
            error={errors.path}
            class="mono"
            value={path}
            placeholder="/helloworld/call?name=John"
            onInput={(path) => change({ path })}
          />
        </div>
        <TextField
          label="Headers"
          help="One per line, such as Host: api.example.com. Headers are not stored."
          error={errors.headers}
          rows={3}
          value={headers}
          onInput={(headers) => change({ headers })}
        />
        <TextField
          label="Body"
          help="Size limits are checked, too."
          rows={2}
          value={body}
          onInput={(body) => change({ body })}
        />
        <div class="explain-connection">
          <TextField
            label="Client address"
            help="Of the connection. Empty: 127.0.0.1."
            value={client}
            onInput={(client) => change({ client })}
          />
          <TextField
            label="Listener"
            help="Name in mx.yaml. Empty: the main one."
            value={listener}
            onInput={(listener) => change({ listener: listener.trim() })}
          />
          <SelectField
            label="Scheme"
            value={scheme}
            choices={SCHEMES}
            onInput={(scheme) => change({ scheme })}
          />
        </div>
        <label class="explain-caller">
          <input
            type="checkbox"
            checked={asCaller}
            onChange={({ currentTarget }) => change({ asCaller: currentTarget.checked })}
          />
          Call as the logged-in account, unless the headers contain Authorization
        </label>
        <div class="form-actions">
          <button type="submit" class="primary" disabled={busy}>
            Explain
          </button>
        </div>
      </form>
      {failure !== undefined && <Problem error={failure} subject={`explain ${method} ${path}`} />}
      <div aria-live="polite" aria-busy={busy}>
        {result !== undefined && <Explanation {...result} />}
      </div>
    </div>
  )
}

/** Parses the input. `headers` is undefined if the input is invalid. */
function parse(path: string, text: string) {
  const errors: { path?: string; headers?: string } = {}
  let headers: Readonly<Record<string, string>> | undefined
  if (!/^\/[!-~]*$/.test(path))
    errors.path = `A path must start with / and encode spaces as %20, got ${JSON.stringify(path)}`
  try {
    headers = readHeaders(text)
  } catch (error) {
    errors.headers = (error as RangeError).message
  }
  return { errors, headers: errors.path === undefined ? headers : undefined }
}
