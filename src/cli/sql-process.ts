import { connectToParent } from '../protocol/child.ts';
import { sentError } from '../protocol/failure.ts';
import { type FromSql, type ToSql, toSqlSchema } from '../protocol/sql.ts';
import { runSql } from '../store/sql-session.ts';

/** Entry of the process that runs one query: see src/protocol/sql.ts. */

const connection = connectToParent<ToSql, FromSql>({
  schema: toSqlSchema,
  onMessage: answer,
  onEnd: () => undefined,
});

function answer({ runs, sql, limit }: ToSql): void {
  try {
    const { columns, rows, truncated } = runSql(runs, sql, { limit });
    connection.send({
      type: 'rows',
      columns: [...columns],
      rows: rows.map((row) => [...row]),
      truncated,
    });
  } catch (thrown) {
    connection.send({ type: 'failed', ...sentError(thrown) });
  }
}
