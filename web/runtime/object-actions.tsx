import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { Confirm } from '../components/dialog/confirm.tsx'
import { showToast } from '../components/toast.tsx'
import { call } from '../rpc/caller.ts'
import { isAdmin } from '../state/session-scopes.ts'
import { isStopping, type RuntimeObject, toStatus, toUpdateKind } from './objects.ts'

interface Action {
  readonly title: string
  readonly about: string
  readonly done: string
  readonly endpoint: 'Runtime.Update' | 'Runtime.Delete'
  /** Additional request fields. */
  readonly request?: object
  readonly isDangerous?: boolean
}

const FETCH: Action = {
  title: 'Update',
  about:
    'Fetches the latest code of this version and builds it. Current instances serve until the new ones are ready.',
  done: 'update started',
  endpoint: 'Runtime.Update',
}
const RESTART: Action = {
  title: 'Restart',
  about: 'Restarts the existing build. Current instances serve until the new ones are ready.',
  done: 'restart started',
  endpoint: 'Runtime.Update',
}
const REBUILD: Action = {
  title: 'Rebuild',
  about: 'Builds the same source again. Current instances serve until the new ones are ready.',
  done: 'rebuild started',
  endpoint: 'Runtime.Update',
  request: { options: { force: true } },
}
const ROLL_BACK: Action = {
  title: 'Roll back',
  about: 'Reverts the last update.',
  done: 'rollback started',
  endpoint: 'Runtime.Update',
  request: { rollback: true },
}
const KILL: Action = {
  title: 'Kill',
  about:
    'Stops all instances and deletes the object with its builds and account. This cannot be undone.',
  done: 'killed',
  endpoint: 'Runtime.Delete',
  isDangerous: true,
}

/** Action buttons of a runtime object. */
export function ObjectActions({ object }: { readonly object: RuntimeObject }): JSX.Element {
  const [action, setAction] = useState<Action>()
  const [isForced, setForced] = useState(false)
  const { name, version } = object
  const canAct = isAdmin()
  // An unreachable server cannot confirm the deletion.
  const canForce = action === KILL && toStatus(object) === 'unknown'
  const actions = [
    ...(toUpdateKind(object) === 'fetch' ? [FETCH] : [RESTART, REBUILD]),
    ...[ROLL_BACK, KILL],
  ]

  async function act({ endpoint, request, done }: Action): Promise<void> {
    const service = { name, version }
    const force = canForce && isForced && { options: { force: true } }
    // Calls in flight may take as long as their own timeout.
    const timeoutMs = endpoint === 'Runtime.Delete' ? 0 : undefined
    await call(
      'runtime',
      endpoint,
      { resource: { service }, ...request, ...force },
      timeoutMs === undefined ? {} : { timeoutMs },
    )
    showToast(`${name} ${done}`)
  }

  return (
    <>
      {actions.map((each) => (
        <button
          key={each.title}
          type="button"
          class={each.isDangerous ? 'danger' : undefined}
          disabled={!canAct || isStopping(object)}
          onClick={() => {
            setForced(false)
            setAction(each)
          }}
        >
          {each.title}
        </button>
      ))}
      {action !== undefined && (
        <Confirm
          title={`${action.title} ${name}@${version}?`}
          action={action.title}
          dangerous={action.isDangerous ?? false}
          onConfirm={() => act(action)}
          onClose={() => setAction(undefined)}
        >
          <p>{action.about}</p>
          {canForce && (
            <label class="check">
              <input
                type="checkbox"
                checked={isForced}
                onChange={(event) => setForced(event.currentTarget.checked)}
              />
              Delete even if its server is unreachable
            </label>
          )}
        </Confirm>
      )}
    </>
  )
}
