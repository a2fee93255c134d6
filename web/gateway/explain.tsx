import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { Field } from '../components/field.tsx'
import { Problem } from '../components/problem.tsx'
import { CallError } from '../rpc/call-error.ts'
import { call } from '../rpc/caller.ts'
import { useDraft } from '../state/draft-storage.ts'
import { Explanation } from './explanation.tsx'
import type { Explained } from './messages.ts'
import { readHeaders } from './read-headers.ts'

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS']

const NOTHING = { method: 'GET', path: '', headers: '', body: '', asCaller: true }

interface Asked {
  readonly method: string
  readonly path: string
  readonly explained: Explained
}

/** Asks what a request would meet; nothing is sent. */
export function Explain(): JSX.Element {
  const [typed, setTyped] = useDraft(['gateway', 'explain'], NOTHING)
  const { method, path, headers, body, asCaller } = typed
  const [asked, setAsked] = useState<Asked>()
  const [failure, setFailure] = useState<CallError>()
  const [wrong, setWrong] = useState<{ readonly path?: string; readonly headers?: string }>({})
  const [busy, setBusy] = useState(false)
  const change = (part: Partial<typeof typed>): void => setTyped({ ...typed, ...part })

  async function ask(event: SubmitEvent): Promise<void> {
    event.preventDefault()
    setFailure(undefined)
    const read = readTyped(path, headers)
    setWrong(read.wrong)
    if (read.headers === undefined) return
    setBusy(true)
    try {
      const request = { method, path, body, headers: read.headers, as_caller: asCaller }
      const answer = await call<Explained>('api', 'Api.Explain', request)
      setAsked({ method, path, explained: answer.body })
    } catch (error) {
      setFailure(CallError.from(error))
    }
    setBusy(false)
  }

  return (
    <div class="gateway-tab">
      <form class="form card" onSubmit={ask} noValidate>
        <div class="explain-line">
          <Field label="Method">
            {(control) => (
              <select
                {...control}
                value={method}
                onChange={({ currentTarget }) => change({ method: currentTarget.value })}
              >
                {METHODS.map((name) => (
                  <option key={name}>{name}</option>
                ))}
              </select>
            )}
          </Field>
          <Field label="Path" error={wrong.path}>
            {(control) => (
              <input
                {...control}
                class="mono"
                value={path}
                placeholder="/helloworld/call?name=John"
                autocomplete="off"
                spellcheck={false}
                onInput={({ currentTarget }) => change({ path: currentTarget.value })}
              />
            )}
          </Field>
        </div>
        <Field
          label="Headers"
          help="A line each, such as Host: api.example.com. None is kept."
          error={wrong.headers}
        >
          {(control) => (
            <textarea
              {...control}
              rows={3}
              value={headers}
              spellcheck={false}
              onInput={({ currentTarget }) => change({ headers: currentTarget.value })}
            />
          )}
        </Field>
        <Field label="Body" help="Limits of its length are judged, too.">
          {(control) => (
            <textarea
              {...control}
              rows={2}
              value={body}
              spellcheck={false}
              onInput={({ currentTarget }) => change({ body: currentTarget.value })}
            />
          )}
        </Field>
        <label class="explain-caller">
          <input
            type="checkbox"
            checked={asCaller}
            onChange={({ currentTarget }) => change({ asCaller: currentTarget.checked })}
          />
          As the account that is logged in, unless the headers have an Authorization
        </label>
        <div class="form-actions">
          <button type="submit" class="primary" disabled={busy}>
            Explain
          </button>
        </div>
      </form>
      {failure !== undefined && <Problem error={failure} asked={`what ${method} ${path} meets`} />}
      <div aria-live="polite" aria-busy={busy}>
        {asked !== undefined && <Explanation {...asked} />}
      </div>
    </div>
  )
}

/** `headers` is undefined when something is wrong. */
function readTyped(path: string, text: string) {
  const wrong: { path?: string; headers?: string } = {}
  let headers: Readonly<Record<string, string>> | undefined
  if (!/^\/[!-~]*$/.test(path))
    wrong.path = `A path begins with /, and has no blanks: they are written %20. Got ${JSON.stringify(path)}`
  try {
    headers = readHeaders(text)
  } catch (error) {
    wrong.headers = (error as RangeError).message
  }
  return { wrong, headers: wrong.path === undefined ? headers : undefined }
}
