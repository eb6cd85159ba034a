//! The objects of a device: what a handle stands for.

use std::sync::{Arc, Mutex, PoisonError};

use super::{Image, Texture};

/// What a handle stands for.
#[derive(Clone, Debug)]
pub enum Object {
    /// A texture.
    Texture(Arc<Texture>),
    /// A surface.
    Surface(Arc<Image>),
}

impl Object {
    /// What it reads.
    pub fn image(&self) -> &Image {
        match self {
            Object::Texture(texture) => &texture.image,
            Object::Surface(image) => image,
        }
    }
}

/// A place of the table.
#[derive(Clone, Debug, Default)]
struct Place {
    /// How many objects were here before.
    generation: u32,
    object: Option<Object>,
}

/// The objects as a launch finds them. A handle is the number of a place, from 1 on, and in its upper half how many objects
/// were there before: looking one up is one access to a list, and the handle of an object that is gone finds nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Objects {
    places: Vec<Place>,
}

/// What a handle finds.
pub(crate) enum Found<'a> {
    Object(&'a Object),
    /// It was destroyed.
    Destroyed,
    /// It never was one.
    Nothing,
}

impl Objects {
    pub(crate) fn find(&self, handle: u64) -> Found<'_> {
        let (number, generation) = (handle as u32, (handle >> 32) as u32);
        let place = (number as usize).checked_sub(1).and_then(|index| self.places.get(index));
        match place {
            Some(place) if place.generation == generation => match &place.object {
                Some(object) => Found::Object(object),
                None => Found::Nothing,
            },
            Some(place) if generation < place.generation => Found::Destroyed,
            _ => Found::Nothing,
        }
    }

    fn add(&mut self, object: Object) -> u64 {
        let free = self.places.iter().position(|place| place.object.is_none());
        let index = free.unwrap_or_else(|| {
            self.places.push(Place::default());
            self.places.len() - 1
        });
        let place = &mut self.places[index];
        place.object = Some(object);
        u64::from(place.generation) << 32 | (index as u64 + 1)
    }

    /// Adds an object under the handle that it had elsewhere; false if that is another one's, or none.
    fn add_as(&mut self, handle: u64, object: Object) -> bool {
        let (number, generation) = (handle as u32, (handle >> 32) as u32);
        if number == 0 || number > MOST_PLACES {
            return false;
        }
        if self.places.len() < number as usize {
            self.places.resize_with(number as usize, Place::default);
        }
        let place = &mut self.places[number as usize - 1];
        let free = place.object.is_none();
        if free {
            *place = Place { generation, object: Some(object) };
        }
        free
    }

    /// Each object and its handle.
    fn list(&self) -> Vec<(u64, Object)> {
        let each = self.places.iter().zip(1..);
        let own = each.filter_map(|(place, number)| {
            Some((u64::from(place.generation) << 32 | number, place.object.clone()?))
        });
        own.collect()
    }

    fn remove(&mut self, handle: u64) -> Option<Object> {
        let (number, generation) = (handle as u32, (handle >> 32) as u32);
        let place = self.places.get_mut((number as usize).checked_sub(1)?)?;
        if place.generation != generation {
            return None;
        }
        let object = place.object.take()?;
        place.generation = place.generation.wrapping_add(1);
        Some(object)
    }
}

/// Places that a handle from elsewhere may name.
const MOST_PLACES: u32 = 1 << 20;

/// The table of a device: changed by the host, captured by launches.
#[derive(Debug, Default)]
pub(crate) struct Tables {
    objects: Mutex<Arc<Objects>>,
}

impl Tables {
    fn with<T>(&self, body: impl FnOnce(&mut Arc<Objects>) -> T) -> T {
        body(&mut self.objects.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// As a launch captures it.
    pub(crate) fn capture(&self) -> Arc<Objects> {
        self.with(|objects| objects.clone())
    }

    /// The handle of a new object.
    pub(crate) fn add(&self, object: Object) -> u64 {
        self.with(|objects| Arc::make_mut(objects).add(object))
    }

    /// Adds an object under a handle; false if that is another one's, or none.
    pub(crate) fn add_as(&self, handle: u64, object: Object) -> bool {
        self.with(|objects| Arc::make_mut(objects).add_as(handle, object))
    }

    /// Each object and its handle.
    pub(crate) fn list(&self) -> Vec<(u64, Object)> {
        self.with(|objects| objects.list())
    }

    /// Whether there was such an object, which now is gone.
    pub(crate) fn remove(&self, handle: u64) -> bool {
        self.with(|objects| Arc::make_mut(objects).remove(handle)).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::texture::{Channel, Format, Shape};

    fn surface() -> Object {
        let format = Format::plain(Channel::Float(4), 1);
        Object::Surface(Arc::new(Image {
            shape: Shape::TwoD,
            format,
            levels: Vec::new(),
            whole: crate::texture::Whole::of([1; 3]),
            opaque: true,
        }))
    }

    #[test]
    fn a_handle_finds_its_own_object_only() {
        let tables = Tables::default();
        let (a, b) = (tables.add(surface()), tables.add(surface()));
        assert_eq!((a, b), (1, 2));
        let before = tables.capture();
        assert!(tables.remove(a) && !tables.remove(a) && !tables.remove(0) && !tables.remove(99));
        let again = tables.add(surface());
        assert_eq!(again, 1 << 32 | 1, "the place comes again, the handle does not");
        let now = tables.capture();
        assert!(matches!(now.find(a), Found::Destroyed) && matches!(now.find(again), Found::Object(_)));
        assert!(matches!(before.find(a), Found::Object(_)), "a launch keeps what it captured");
        let listed: Vec<u64> = tables.list().iter().map(|(handle, _)| *handle).collect();
        assert_eq!(listed, [again, b]);
        assert!(!tables.add_as(b, surface()) && !tables.add_as(0, surface()));
        assert!(!tables.add_as(u64::from(u32::MAX), surface()), "no list is that long");
        let elsewhere = Tables::default();
        assert!(elsewhere.add_as(5 << 32 | 7, surface()));
        assert!(matches!(elsewhere.capture().find(5 << 32 | 7), Found::Object(_)));
        assert_eq!(elsewhere.add(surface()), 1);
        for other in [0, 3, 7 << 32 | 1, u64::MAX] {
            assert!(matches!(now.find(other), Found::Nothing), "{other:#x}");
        }
    }
}
