import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { Confirm } from '../components/dialog/confirm.tsx'
import { showToast } from '../components/toast.tsx'
import { call } from '../rpc/caller.ts'
import { isAdmin } from '../state/session-scopes.ts'
import { isLeaving, type RuntimeObject, toStatus, toUpdateKind } from './objects.ts'

interface Action {
  readonly title: string
  readonly about: string
  readonly done: string
  readonly endpoint: 'Runtime.Update' | 'Runtime.Delete'
  /** Besides the object. */
  readonly request?: object
  readonly isDangerous?: boolean
}

const FETCH: Action = {
  title: 'Update',
  about:
    'Fetches the newest code of its version and builds it. The old copies serve until the new ones do.',
  done: 'is updated',
  endpoint: 'Runtime.Update',
}
const RESTART: Action = {
  title: 'Restart',
  about: 'Starts the same build anew. The old copies serve until the new ones do.',
  done: 'is restarted',
  endpoint: 'Runtime.Update',
}
const REBUILD: Action = {
  title: 'Rebuild',
  about: 'Builds the same source again. The old copies serve until the new ones do.',
  done: 'is built again',
  endpoint: 'Runtime.Update',
  request: { options: { force: true } },
}
const ROLL_BACK: Action = {
  title: 'Roll back',
  about: 'Runs what ran before the last update.',
  done: 'is rolled back',
  endpoint: 'Runtime.Update',
  request: { rollback: true },
}
const KILL: Action = {
  title: 'Kill',
  about:
    'Ends all its copies and forgets it, with its builds and its account. This cannot be undone.',
  done: 'was killed',
  endpoint: 'Runtime.Delete',
  isDangerous: true,
}

/** What can be done with a runtime object. */
export function ObjectActions({ object }: { readonly object: RuntimeObject }): JSX.Element {
  const [action, setAction] = useState<Action>()
  const [isForced, setForced] = useState(false)
  const { name, version } = object
  const mayAct = isAdmin()
  // Nobody would answer for a server that is away.
  const canForce = action === KILL && toStatus(object) === 'unknown'
  const offered = [
    ...(toUpdateKind(object) === 'fetch' ? [FETCH] : [RESTART, REBUILD]),
    ...[ROLL_BACK, KILL],
  ]

  async function act({ endpoint, request, title, done }: Action): Promise<void> {
    const service = { name, version }
    const force = canForce && isForced && { options: { force: true } }
    // Calls under way may take as long as they are given.
    const timeoutMs = endpoint === 'Runtime.Delete' ? 0 : undefined
    await call(
      'runtime',
      endpoint,
      { resource: { service }, ...request, ...force },
      timeoutMs === undefined ? {} : { timeoutMs },
    )
    showToast(`${name} ${done}${title === KILL.title ? '' : ': see how far it is'}`)
  }

  return (
    <>
      {offered.map((one) => (
        <button
          key={one.title}
          type="button"
          class={one.isDangerous ? 'danger' : undefined}
          disabled={!mayAct || isLeaving(object)}
          onClick={() => {
            setForced(false)
            setAction(one)
          }}
        >
          {one.title}
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
              Forget it, even though its server does not answer
            </label>
          )}
        </Confirm>
      )}
    </>
  )
}
