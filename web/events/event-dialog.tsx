import { Fragment, type JSX } from 'preact'
import { Dialog } from '../components/dialog/dialog.tsx'
import type { EventMessage } from './event.ts'
import { PayloadView } from './payload-view.tsx'

export interface EventDialogProps {
  readonly event: EventMessage
  readonly onClose: () => void
  /** Opens the publish form filled with the event. */
  readonly onRepublish: (event: EventMessage) => void
}

/** Event details. */
export function EventDialog({ event, onClose, onRepublish }: EventDialogProps): JSX.Element {
  const { topic, sequence, id, timestamp_ms, metadata, payload } = event
  const names = Object.keys(metadata)
  return (
    <Dialog
      title={`Event ${sequence} of ${topic}`}
      onClose={onClose}
      actions={
        <button type="button" onClick={() => onRepublish(event)}>
          Publish again…
        </button>
      }
    >
      <dl class="facts">
        <dt>ID</dt>
        <dd class="mono">{id}</dd>
        <dt>Time</dt>
        <dd>{new Date(timestamp_ms).toISOString()}</dd>
        {names.map((name) => (
          <Fragment key={name}>
            <dt>{name}</dt>
            <dd class="mono">{metadata[name]}</dd>
          </Fragment>
        ))}
      </dl>
      <h3>Payload</h3>
      <PayloadView payload={payload} name={`${topic}-${sequence}`} />
    </Dialog>
  )
}
