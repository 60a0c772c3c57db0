//! Tables: as tables where they hold data, as blocks where they lay out a page.
//!
//! Owns the difference. Invariant: every row of a table has as many cells as its head.

use super::Writer;
use crate::tag::Tag;
use crate::tree::NodeId;

/// Wider tables lay out something.
const MOST_COLUMNS: usize = 64;

/// The cells of a row.
#[derive(Debug, Default)]
struct Row {
    cells: Vec<NodeId>,
    is_head: bool,
}

impl Writer<'_, '_> {
    pub(super) fn table(&mut self, id: NodeId) {
        let mut rows = Vec::new();
        self.rows(id, &mut rows);
        let columns = rows.iter().map(|row| row.cells.len()).max().unwrap_or(0);
        let is_data = (2..=MOST_COLUMNS).contains(&columns) && !self.selection.holds(id).table;
        if !is_data || self.sheet.place.inline {
            return self.block(id, |writer| writer.children(id));
        }
        self.captions(id);
        self.sheet.gap(2);
        let mut rows = rows.into_iter().peekable();
        let head = rows.next_if(|row| row.is_head).unwrap_or_default();
        self.row(&head.cells, columns);
        self.sheet.word(&format!("|{}", " --- |".repeat(columns)));
        self.sheet.gap(1);
        for row in rows {
            self.row(&row.cells, columns);
        }
        self.sheet.gap(2);
    }

    /// The rows of a table and of its parts; tables inside have been ruled out or are blocks.
    fn rows(&self, id: NodeId, rows: &mut Vec<Row>) {
        for child in self.tree.children(id) {
            match self.tree.node(child).tag {
                _ if self.selection.is_dropped(child) => {}
                Tag::Thead | Tag::Tbody | Tag::Tfoot => self.rows(child, rows),
                Tag::Tr => rows.push(self.cells(child)),
                _ => {}
            }
        }
    }

    fn cells(&self, row: NodeId) -> Row {
        let is_cell = |id: &NodeId| {
            let tag = self.tree.node(*id).tag;
            matches!(tag, Tag::Td | Tag::Th) && !self.selection.is_dropped(*id)
        };
        let cells: Vec<_> = self.tree.children(row).filter(is_cell).collect();
        let is_head = cells.iter().all(|id| self.tree.node(*id).tag == Tag::Th);
        Row { cells, is_head }
    }

    fn captions(&mut self, id: NodeId) {
        let tree = self.tree;
        for child in tree.children(id) {
            if tree.node(child).tag == Tag::Caption {
                self.node(child);
            }
        }
    }

    fn row(&mut self, cells: &[NodeId], columns: usize) {
        self.sheet.word("|");
        for column in 0..columns {
            self.sheet.space();
            if let Some(cell) = cells.get(column) {
                self.sheet.place.cell = true;
                let captured = self.captured(*cell);
                self.sheet.place.cell = false;
                self.sheet.word(&captured.text);
                self.sheet.space();
            }
            self.sheet.word("|");
        }
        self.sheet.gap(1);
    }
}
